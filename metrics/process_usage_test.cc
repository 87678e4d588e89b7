#include "metrics/process_usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(ProcessUsage, SeesMemoryThatIsTouched) {
  constexpr size_t kBytes = 64 << 20;
  const uint64_t before = ReadProcessUsage().resident_bytes;
  std::vector<char> memory(kBytes);
  std::memset(memory.data(), 1, memory.size());
  EXPECT_GE(ReadProcessUsage().resident_bytes, before + kBytes / 2) << memory[kBytes / 2];
  EXPECT_GE(ResidentBytes(), before + kBytes / 2);
}

TEST(ProcessUsage, OfAnotherProcessIsReadFromItsFolder) {
  EXPECT_GT(ResidentBytesOf(getppid()), 0);
  EXPECT_NEAR(CpuSecondsOf(getpid()), ReadProcessUsage().cpu_seconds, 0.1);
}

TEST(ProcessUsage, OfNoProcessIsNothing) {
  EXPECT_EQ(ResidentBytesOf(0), 0);
  EXPECT_EQ(CpuSecondsOf(0), 0);
}

TEST(ProcessUsage, CountsOpenFilesAndThreads) {
  const ProcessUsage before = ReadProcessUsage();
  EXPECT_LT(before.open_files, before.most_open_files);
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  absl::Notification done;
  std::thread thread([&done] { done.WaitForNotification(); });
  const ProcessUsage after = ReadProcessUsage();
  EXPECT_EQ(after.open_files, before.open_files + 1);
  EXPECT_EQ(after.threads, before.threads + 1);
  done.Notify();
  thread.join();
  close(file);
}

TEST(ProcessUsage, KnowsWhenTheProcessBeganAndWhatItSpent) {
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  // The kernel's start of the machine is in whole seconds.
  EXPECT_NEAR(ReadProcessUsage().start_seconds, now, 60);
  const double before = ReadProcessUsage().cpu_seconds;
  while (ReadProcessUsage().cpu_seconds < before + 0.05) {
  }
}

TEST(ProcessCollector, NamesEachMetricOnce) {
  std::vector<std::string> names;
  for (const prometheus::MetricFamily& family : ProcessCollector().Collect()) {
    EXPECT_EQ(family.metric.size(), 1) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    for (const std::string& other : names) EXPECT_NE(other, family.name);
    names.push_back(family.name);
  }
  EXPECT_EQ(names.size(), 8);
}

}  // namespace
}  // namespace mallocmuzero
