#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/xla/compile_options.pb.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "rpc/testing/await.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFake[] = MALLOCMUZERO_BINARY_DIR "/testing/fake_pjrt_plugin.so";

std::vector<std::string> Arguments(const std::string& hlo, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"compile", "--hlo",    hlo,  "--chip",
                                        "tpu_v6e", "--libtpu", kFake};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The options that the fake compiler got: the part behind the '|' in its executable.
xla::CompileOptionsProto OptionsIn(const std::string& executable) {
  xla::CompileOptionsProto options;
  EXPECT_TRUE(options.ParseFromString(executable.substr(executable.find('|') + 1)));
  return options;
}

TEST(Compile, WritesModuleAndExecutableAndReports) {
  const TemporaryFolder folder;
  const std::string hlo = folder.Write("f.mlir", "module @f {}");
  const RunResult result = RunMallocmuzero(Arguments(
      hlo, {"--module", folder.Path("f.pb"), "--executable", folder.Path("f.bin"),
            "--no-assignment", "--option", "xla_tpu_scoped_vmem_limit_kib=49152", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(ReadAll(folder.Path("f.pb")), "module @f {}");
  const std::string executable = ReadAll(folder.Path("f.bin"));
  EXPECT_THAT(executable, StartsWith("v6e:1x1|"));
  const xla::CompileOptionsProto options = OptionsIn(executable);
  const auto& overrides = options.env_option_overrides();
  EXPECT_EQ(overrides.at("xla_tpu_scoped_vmem_limit_kib").int_field(), 49152);
  EXPECT_FALSE(overrides.at("xla_gf_vmem_memory_space_assignment").bool_field());
  EXPECT_EQ(options.executable_build_options().num_partitions(), 1);

  const nlohmann::json report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["hlo"], hlo);
  EXPECT_EQ(report["chip"], "tpu_v6e");
  EXPECT_EQ(report["topology"], "v6e:1x1");
  EXPECT_EQ(report["format"], "mlir");
  EXPECT_EQ(report["library"], kFake);
  EXPECT_EQ(report["library_version"], "fake 1.2 built today");
  EXPECT_EQ(report["pjrt_version"], "0.90");
  EXPECT_EQ(report["module_bytes"], 12);
  EXPECT_EQ(report["fingerprint"], "ff01");
  EXPECT_EQ(report["memory"]["temporaries"], 4000);
  EXPECT_EQ(report["costs"]["flops"], 7);
}

TEST(Compile, StartsFromGivenOptionsAndAnotherTopology) {
  const TemporaryFolder folder;
  xla::CompileOptionsProto given;
  given.mutable_executable_build_options()->set_num_partitions(8);
  const RunResult result = RunMallocmuzero(
      Arguments(folder.Write("f.mlir", "module @f {}"),
                {"--compile-options", folder.Write("options.pb", given.SerializeAsString()),
                 "--topology", "v6e:2x4", "--executable", folder.Path("f.bin")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("compiled for v6e:2x4"), HasSubstr("fake 1.2"),
                                EndsWith(absl::StrCat("wrote ", folder.Path("f.bin"), "\n"))));
  const std::string executable = ReadAll(folder.Path("f.bin"));
  EXPECT_THAT(executable, StartsWith("v6e:2x4|"));
  EXPECT_EQ(OptionsIn(executable).executable_build_options().num_partitions(), 8);
}

// A module of this name that returns its only parameter.
std::string SmallModule(const std::string& name) {
  xla::HloModuleProto module;
  module.set_name(name);
  module.set_entry_computation_name("main");
  module.set_entry_computation_id(1);
  xla::HloComputationProto& main = *module.add_computations();
  main.set_name("main");
  main.set_id(1);
  main.set_root_id(2);
  xla::HloInstructionProto& x = *main.add_instructions();
  x.set_name("x");
  x.set_opcode("parameter");
  x.set_id(2);
  x.mutable_shape()->set_element_type(11);  // F32
  return module.SerializeAsString();
}

TEST(Compile, WritesTheModuleAsText) {
  const TemporaryFolder folder;
  // The fake compiler returns the module as it got it.
  const std::string hlo = folder.Write("f.pb", SmallModule("f"));
  const RunResult result = RunMallocmuzero(Arguments(hlo, {"--text", folder.Path("f.hlo")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string text = ReadAll(folder.Path("f.hlo"));
  EXPECT_THAT(text, StartsWith("HloModule f"));
  EXPECT_THAT(text, HasSubstr("x = f32[]"));
  EXPECT_THAT(text, HasSubstr("parameter(0)"));
}

TEST(ModuleText, WritesEachModuleIntoItsFile) {
  const TemporaryFolder folder;
  const RunResult result =
      RunMallocmuzero({"module-text", folder.Write("f.pb", SmallModule("f")), folder.Path("f.hlo"),
                       folder.Write("g.pb", SmallModule("g")), folder.Path("g.hlo")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ReadAll(folder.Path("f.hlo")), StartsWith("HloModule f"));
  EXPECT_THAT(ReadAll(folder.Path("g.hlo")), StartsWith("HloModule g"));
}

TEST(ModuleText, NamesTheFileThatIsNoModule) {
  const TemporaryFolder folder;
  const std::string output = folder.Path("f.hlo");
  ExpectOneErrorLine(RunMallocmuzero({"module-text", folder.Write("f.pb", "\x0a no"), output}),
                     "f.pb: expected HLO text");
  ExpectOneErrorLine(RunMallocmuzero({"module-text", folder.Path("none.pb"), output}),
                     "none.pb: cannot open");
  EXPECT_FALSE(std::filesystem::exists(output));
  ExpectOneErrorLine(RunMallocmuzero({"module-text", folder.Path("f.pb"), output, output}),
                     "a file for the text of each module expected");
}

TEST(Compile, FailsInOneLineWhereTheCompilerDoes) {
  const TemporaryFolder folder;
  const std::string output = folder.Path("out.pb");
  const auto run = [&](const std::string& module) {
    const bool hangs = module == "module @hang";
    return RunMallocmuzero(Arguments(folder.Write("f.mlir", module),
                                     {"--module", output, "--timeout", hangs ? "5s" : "5m"}));
  };
  const std::string begin = absl::StrCat("mallocmuzero: ", folder.Path("f.mlir"), ": ");
  const std::pair<const char*, const char*> cases[] = {
      {"module @refuse", "cannot compile this\n"},
      {"module @too_large", "Ran out of memory\n"},
      {"module @abort",
       "the compiler aborted: fake.cc:89] Check failed: 1 == 2 (1 vs. 2) (killed by signal 6 "
       "(Aborted))\n"},
      {"module @hang", "the compiler has not finished within 5s\n"},
  };
  for (const auto& [module, message] : cases) {
    const RunResult result = run(module);
    EXPECT_EQ(result.exit_code, 1) << module;
    EXPECT_EQ(result.err, begin + message);
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST(Compile, RefusesBadInput) {
  const TemporaryFolder folder;
  const std::string good = folder.Write("f.mlir", "module @f {}");
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& pattern) {
    ExpectOneErrorLine(RunMallocmuzero(arguments), pattern);
  };
  expect(Arguments(folder.Write("f.txt", "HloModule f"), {}), "f.txt: is HLO text");
  expect(Arguments(folder.Path("none.pb"), {}), "none.pb: cannot open");
  expect(Arguments(good, {"--option", "no_value"}), "'no_value': name=value expected");
  expect(Arguments(good, {"--timeout", "never"}), "--timeout: 'never'");
  expect(Arguments(good, {"--topology", "unknown"}), "does not know 'unknown': no such topology");
  expect(Arguments(good, {"--module", good}), "would be written over");
  expect(Arguments(good, {"--module", "x", "--executable", "x"}), "different files");
  expect(Arguments(good, {"--module", "x", "--text", "x"}), "different files");
  expect(Arguments(good, {"--module", "x", "--text", "./x"}), "different files");
  expect(Arguments(good, {"--compile-options", folder.Write("o.pb", "no options")}),
         "o.pb: a serialised xla.CompileOptionsProto expected");
  expect({"compile", "--hlo", good, "--chip", "tpu_v9", "--libtpu", kFake}, "not for tpu_v9");
  expect({"compile", "--hlo", good, "--chip", "tpu_v6e", "--libtpu", "/no/libtpu.so"},
         "/no/libtpu.so: no such file");
  expect({"compile", "--hlo", good, "--chip", "tpu_v6e", "--libtpu", good},
         "cannot load the compiler");
}

// True if a child of `parent` runs whose command line contains the path that only these children
// have.
bool ChildOfCompileRuns(pid_t parent) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line;
    std::getline(file, line, '\x01');
    if (line.find("compile-child") != std::string::npos &&
        line.find(absl::StrCat("/proc/", parent, "/fd/")) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Compile, ASignalEndsTheCompilerAndLeavesNoFiles) {
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    const TemporaryFolder folder;
    RunningMallocmuzero running(
        Arguments(folder.Write("f.mlir", "module @hang {}"), {"--module", folder.Path("out.pb")}));
    const pid_t parent = running.pid();
    ASSERT_TRUE(Await([&] { return ChildOfCompileRuns(parent); }));
    running.Signal(signal);
    const RunResult result = running.Wait();
    EXPECT_TRUE(Await([&] { return !ChildOfCompileRuns(parent); })) << signal;
    EXPECT_FALSE(std::filesystem::exists(folder.Path("out.pb")));
    if (signal == SIGKILL) continue;
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("f.mlir: stopped by a signal"));
  }
}

}  // namespace
}  // namespace mallocmuzero::e2e
