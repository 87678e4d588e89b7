#include "base/usable_cpus.h"

#include <sched.h>

#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/testing/raw_files.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;

// A folder with the files that the kernel would have.
class CpuQuotaTest : public ::testing::Test {
 protected:
  CpuQuotaTest() { Write("proc/self/cgroup", "0::/pods/actor\n"); }
  ~CpuQuotaTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    const std::string path = absl::StrCat(root_, "/", name);
    fs::create_directories(fs::path(path).parent_path());
    testing::WriteRaw(path, text);
  }

  const std::string root_ = testing::TemporaryPath("kernel");
};

TEST_F(CpuQuotaTest, IsNothingWithoutFiles) {
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  EXPECT_EQ(CpuQuota(absl::StrCat(root_, "/missing")), std::nullopt);
}

TEST_F(CpuQuotaTest, IsNothingWithoutALimit) {
  Write("sys/fs/cgroup/pods/actor/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
}

TEST_F(CpuQuotaTest, IsRoundedUp) {
  Write("sys/fs/cgroup/pods/actor/cpu.max", "200000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 2);
  Write("sys/fs/cgroup/pods/actor/cpu.max", "200001 100000\n");
  EXPECT_EQ(CpuQuota(root_), 3);
  Write("sys/fs/cgroup/pods/actor/cpu.max", "1000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1);
}

TEST_F(CpuQuotaTest, IsTheLeastOfTheGroupsAround) {
  Write("sys/fs/cgroup/pods/actor/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/pods/cpu.max", "150000 50000\n");
  EXPECT_EQ(CpuQuota(root_), 3);
}

TEST_F(CpuQuotaTest, IsThatOfTheTreeWhereAContainerSeesNoMore) {
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1);
}

TEST_F(CpuQuotaTest, KnowsVersion1) {
  Write("proc/self/cgroup", "5:memory:/jobs/b\n3:cpu,cpuacct:/jobs/a\n0::/other\n");
  Write("sys/fs/cgroup/cpu/jobs/a/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/jobs/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("sys/fs/cgroup/cpu/jobs/a/cpu.cfs_quota_us", "500000\n");
  EXPECT_EQ(CpuQuota(root_), 5);
}

TEST_F(CpuQuotaTest, IsNothingWhereFilesAreDamaged) {
  Write("proc/self/cgroup", "0::\nnothing\n:::\n");
  Write("sys/fs/cgroup/cpu.max", "100000 0");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("sys/fs/cgroup/cpu.max", "-5 100000");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Write("sys/fs/cgroup/cpu.max", "many");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
}

TEST(UsableCpus, AreThoseOfTheAffinity) {
  EXPECT_GE(UsableCpus(), 1);
  // The thread has an affinity of its own, so that the test does not change that of the process.
  std::thread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    EXPECT_EQ(UsableCpus(), 1);
  }).join();
}

}  // namespace
}  // namespace mallocmuzero
