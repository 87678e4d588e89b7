#include "base/log.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Log, ALineSaysWhenWhoAndWhat) {
  // 1,000,000,000 seconds after the start of 1970 is 2001-09-09 01:46:40.
  const absl::Time time = absl::FromUnixMillis(1'000'000'000'123);
  EXPECT_EQ(LogLine(time, LogLevel::kWarning, "replay-0", "one\ntwo"),
            "2001-09-09T01:46:40.123Z W replay-0: one two\n");
  EXPECT_EQ(LogLine(time, LogLevel::kInfo, "a", "b\x1b[2J"),
            "2001-09-09T01:46:40.123Z I a: b [2J\n");
  EXPECT_EQ(LogLine(time, LogLevel::kInfo, "a", ""), "2001-09-09T01:46:40.123Z I a: \n");
}

TEST(Log, AJsonLineIsOneObject) {
  const absl::Time time = absl::FromUnixMillis(1'000'000'000'123);
  EXPECT_EQ(JsonLogLine(time, LogLevel::kWarning, "replay-0", "one\n\"two\" \\ \xff\x01"),
            "{\"time\":\"2001-09-09T01:46:40.123Z\",\"severity\":\"WARNING\","
            "\"role\":\"replay-0\",\"message\":\"one\\n\\\"two\\\" \\\\ ?\\u0001\"}\n");
}

// In a process of its own: the choice holds for good.
TEST(Log, AReaderThatHasStoppedDoesNotStopTheWriter) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // ends a child that waits
    dup2(ends[1], STDERR_FILENO);
    NeverWaitForStderr();
    const std::string line(1000, 'x');
    for (int i = 0; i < 1000; ++i) WriteToStderr(line + "\n");
    // The reader is back.
    char bytes[1 << 16];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (read(ends[0], bytes, sizeof(bytes)) > 0) {
    }
    WriteToStderr("the end\n");
    const ssize_t got = read(ends[0], bytes, sizeof(bytes));
    const std::string text(bytes, got < 0 ? 0 : got);
    _exit(text.find(" bytes of this log were left out]\nthe end\n") == std::string::npos ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(ends[0]);
  close(ends[1]);
}

// In a process of its own, whose stderr is another one.
TEST(Log, StderrThatDoesNotWaitGetsAllOfATextToo) {
  constexpr ssize_t kBytes = 1 << 20;  // more than a pipe takes
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // ends a child that waits
    close(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    dup2(ends[1], STDERR_FILENO);
    WriteToStderr(std::string(kBytes, 'x'));
    _exit(0);
  }
  close(ends[1]);
  char bytes[1 << 12];
  ssize_t all = 0;
  for (ssize_t got = 1; got > 0; all += got) got = read(ends[0], bytes, sizeof(bytes));
  EXPECT_EQ(all, kBytes);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(ends[0]);
}

}  // namespace
}  // namespace mallocmuzero
