// Commands that are to use a GPU say so if there is none.

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::FreePort;
using ::testing::HasSubstr;

// Hides the GPUs that this machine may have.
class WithoutGpu : public ::testing::Test {
 protected:
  void SetUp() override { setenv("CUDA_VISIBLE_DEVICES", "", 1); }
  void TearDown() override { unsetenv("CUDA_VISIBLE_DEVICES"); }

  const TemporaryFolder folder_;
};

TEST_F(WithoutGpu, BenchmarksOnAGpuAreRefused) {
  for (const char* command : {"learner", "search"}) {
    const RunResult result = RunMallocmuzero({"bench", command, "--device", "cuda"});
    EXPECT_EQ(result.exit_code, 2);
    ExpectOneErrorLine(result, "no CUDA device");
  }
}

TEST_F(WithoutGpu, AnActorThatIsToUseOneIsRefused) {
  const std::string config = folder_.Write("c.textproto",
                                           "learner { workloads: 'c.textproto' }\n"
                                           "actor { device: 'cuda' }\n"
                                           "reanalyse { device: 'cuda' }\n");
  for (const char* more : {"--index=0", "--reanalyse"}) {
    const RunResult result = RunMallocmuzero({"actor", "--config", config, more});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(".device: cuda given, but LibTorch finds no CUDA device"));
  }
}

TEST_F(WithoutGpu, ALearnerWithADeviceOfItsOwnDoesNotTrainOnTheCpuInstead) {
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", folder_.Path("p.program"))).exit_code, 0);
  const std::string config = folder_.Write(
      "c.textproto", absl::StrCat("learner { workloads: 'p.program' run_dir: 'run' devices: [3]\n",
                                  "  address: '127.0.0.1:", FreePort(), "' }\n"));
  const RunResult result = RunMallocmuzero({"learner", "--config", config});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("learner.devices[0]: 3 given, but LibTorch finds no such CUDA device"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
