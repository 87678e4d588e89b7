#include "metrics/process_usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
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
  // The tolerance covers the time that the test binary has run, and the machine's start, which the
  // kernel tells in whole seconds.
  EXPECT_NEAR(ReadProcessUsage().start_seconds, now, 60);
  const double before = ReadProcessUsage().cpu_seconds;
  while (ReadProcessUsage().cpu_seconds < before + 0.05) {
  }
}

// With 128 CPUs and 2000 interrupts about 12,000 bytes come before the line "btime".
TEST(ProcessUsage, TheMachinesStartIsFoundBehindManyCpus) {
  std::string stat;
  for (int cpu = 0; cpu < 128; ++cpu) {
    absl::StrAppend(&stat, "cpu", cpu, " 1234567 0 1234567 123456789 1234 0 1234 0 0 0\n");
  }
  absl::StrAppend(&stat, "intr 123456");
  for (int interrupt = 0; interrupt < 2000; ++interrupt) absl::StrAppend(&stat, " 0");
  absl::StrAppend(&stat, "\nctxt 987654321\nbtime 1700000000\nprocesses 4242\n");
  const std::string path = absl::StrCat(::testing::TempDir(), "/stat_of_many_cpus");
  std::ofstream(path) << stat;
  EXPECT_EQ(BootSecondsIn(path), 1700000000);
}

TEST(ProcessUsage, TheMachinesStartIsUnknownWithoutItsLine) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/stat_without_start");
  std::ofstream(path) << "cpu 1 2 3\nbtime soon\n";
  EXPECT_EQ(BootSecondsIn(path), 0);
  EXPECT_EQ(BootSecondsIn(path + "_that_is_not_there"), 0);
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
