#include "base/standard_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

// In a process of its own, because the test closes them.
TEST(StandardFiles, NoOtherFileGetsTheNumberOfAClosedOne) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(file);
    ReserveStandardFiles();
    const int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    char byte = 0;
    const bool fail = read(STDIN_FILENO, &byte, 1) < 0 && write(STDOUT_FILENO, &byte, 1) < 0 &&
                      write(STDERR_FILENO, &byte, 1) < 0;
    _exit(fail && other > STDERR_FILENO ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(StandardFiles, OpenOnesStayAsTheyAre) {
  const auto nodes = [] {
    std::vector<ino_t> found;
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      struct stat facts = {};
      if (fstat(file, &facts) == 0) found.push_back(facts.st_ino);
    }
    return found;
  };
  ReserveStandardFiles();  // in case that the test was started without some
  const std::vector<ino_t> before = nodes();
  ReserveStandardFiles();
  EXPECT_EQ(before.size(), 3);
  EXPECT_EQ(nodes(), before);
}

}  // namespace
}  // namespace mallocmuzero
