// Commands that need no network start at once, and those of the second executable through it.

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Start, LoadsNeitherLibTorchNorGrpc) {
  const std::string libraries = RunBinary("/usr/bin/ldd", {MallocmuzeroPath()}).out;
  EXPECT_THAT(libraries, HasSubstr("libc.so"));
  for (const char* library : {"libtorch", "libc10", "libgrpc", "librocksdb", "libprometheus"}) {
    EXPECT_THAT(libraries, Not(HasSubstr(library)));
  }
}

TEST(Start, TakesLittleTime) {
  // The best of some runs: another process may take the processor, and time for itself.
  double least_seconds = 1;
  rusage usage = {};
  for (int run = 0; run < 5; ++run) {
    getrusage(RUSAGE_CHILDREN, &usage);
    const timeval user = usage.ru_utime;
    const timeval system = usage.ru_stime;
    ASSERT_EQ(RunMallocmuzero({"--version"}).exit_code, 0);
    getrusage(RUSAGE_CHILDREN, &usage);
    const double seconds = static_cast<double>(usage.ru_utime.tv_sec - user.tv_sec +
                                               usage.ru_stime.tv_sec - system.tv_sec) +
                           1e-6 * static_cast<double>(usage.ru_utime.tv_usec - user.tv_usec +
                                                      usage.ru_stime.tv_usec - system.tv_usec);
    least_seconds = std::min(least_seconds, seconds);
  }
  EXPECT_LT(least_seconds, 0.05);
}

#ifdef MALLOCMUZERO_AGENT
TEST(Start, RunsOtherCommandsInTheSecondExecutable) {
  const RunResult help = RunMallocmuzero({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: mallocmuzero train [OPTIONS]"));
  EXPECT_THAT(help.out, HasSubstr("--demonstrations"));
  // Its errors are those of one program.
  ExpectOneErrorLine(RunMallocmuzero({"bench", "search", "--batch", "0"}), "--batch");
  ExpectOneErrorLine(RunMallocmuzero({"train", "--seed", ""}), "--seed: expected");
}
#endif

// The first executable where the second is not beside it.
class WithoutAgent : public ::testing::Test {
 protected:
  WithoutAgent() {
    std::filesystem::create_directory(folder_.Path("bin"));
    std::filesystem::copy_file(MallocmuzeroPath(), Binary());
  }

  std::string Binary() const { return folder_.Path("bin/mallocmuzero"); }

  const TemporaryFolder folder_;
};

TEST_F(WithoutAgent, SaysInOneLineWhatIsMissing) {
  const std::vector<std::string> commands[] = {
      {"train", "--help"},
      {"bench", "replay"},
      {"map", "--program", "p", "--output", "o", "--solver", "agent"},
      {"map", "--program", "p", "--output", "o", "--checkpoint", "c"}};
  for (const std::vector<std::string>& command : commands) {
    ExpectOneErrorLine(RunBinary(Binary(), command), "needs the executable mallocmuzero-agent");
  }
}

TEST_F(WithoutAgent, MapsWithTheSolversAlone) {
  const std::string program = folder_.Path("gpt_small.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program)).exit_code, 0);
  const std::string mapping = folder_.Path("found.mapping");
  const RunResult mapped =
      RunBinary(Binary(), {"map", "--program", program, "--output", mapping, "--budget", "200ms"});
  EXPECT_EQ(mapped.exit_code, 0);
  EXPECT_THAT(mapped.err, Not(HasSubstr("agent")));
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program, "--mapping", mapping}).exit_code, 0);
}

}  // namespace
}  // namespace mallocmuzero::e2e
