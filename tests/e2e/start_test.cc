// Commands that need no network start at once, and those of the second executable through it.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFolder[] = MALLOCMUZERO_BINARY_DIR "/bin";

// What `command` prints on stdout.
std::string OutputOf(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out.push_back(static_cast<char>(c));
  pclose(pipe);
  return out;
}

TEST(Start, LoadsNeitherLibTorchNorGrpc) {
  const std::string libraries = OutputOf(absl::StrCat("ldd ", kFolder, "/mallocmuzero"));
  EXPECT_THAT(libraries, HasSubstr("libprotobuf"));
  for (const char* library : {"libtorch", "libc10", "libgrpc", "librocksdb", "libprometheus"}) {
    EXPECT_THAT(libraries, Not(HasSubstr(library)));
  }
}

TEST(Start, TakesLittleTimeAndMemory) {
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
    std::filesystem::copy_file(absl::StrCat(kFolder, "/mallocmuzero"), Binary());
  }

  std::string Binary() const { return folder_.Path("bin/mallocmuzero"); }

  const TemporaryFolder folder_;
};

TEST_F(WithoutAgent, SaysInOneLineWhatIsMissing) {
  for (const char* command : {"train --help", "bench replay",
                              "map --program p --output o "
                              "--solver agent"}) {
    const std::string out =
        OutputOf(absl::StrCat(Binary(), " ", command, " 2>&1; echo exit code $?"));
    EXPECT_THAT(out, StartsWith("mallocmuzero: ")) << command;
    EXPECT_THAT(out, HasSubstr("needs the executable mallocmuzero-agent")) << command;
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2) << out;
    EXPECT_THAT(out, HasSubstr("\nexit code 2\n")) << command;
  }
}

TEST_F(WithoutAgent, MapsWithTheSolversAlone) {
  const std::string program = folder_.Path("gpt_small.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program)).exit_code, 0);
  const std::string mapping = folder_.Path("found.mapping");
  const std::string out =
      OutputOf(absl::StrCat(Binary(), " map --program ", program, " --output ", mapping,
                            " --budget 200ms 2>&1; echo exit code $?"));
  EXPECT_THAT(out, HasSubstr("the solvers search without a network"));
  EXPECT_THAT(out, HasSubstr("\nexit code 0\n"));
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program, "--mapping", mapping}).exit_code, 0);
}

}  // namespace
}  // namespace mallocmuzero::e2e
