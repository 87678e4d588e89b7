// Checks placed modules through the binary.

#include <fstream>
#include <string>
#include <vector>

#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckPlacedCommand : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, absl::string_view text) const {
    const std::string path = folder_.Path(name);
    const std::string bytes = place_check::ModuleFromText(text).SerializeAsString();
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());  // compressed if the name ends in .zst
    return path;
  }

  RunResult Run(const std::string& placed, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"check-placed", "--original", original_, "--placed",
                                          placed,         "--hardware", "tpu_v6e"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMallocmuzero(arguments);
  }

  const TemporaryFolder folder_;
  const std::string original_ = Write("original.pb.zst", place_check::kChain.original);
};

TEST_F(CheckPlacedCommand, SaysThatAModuleIsValidAndWhatItTakes) {
  const RunResult result = Run(Write("placed.pb", place_check::kChain.placed));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("valid: "));
  // Three buffers of 4096 bytes; the alignment is 4096, too.
  EXPECT_THAT(result.out, HasSubstr("12,288 of "));
}

TEST_F(CheckPlacedCommand, ComparesWithTheFastMemoryThatTheCompilerHad) {
  const std::string placed = Write("placed.pb", place_check::kChain.placed);
  for (const auto& [bytes, exit_code] : {std::pair{12288, 0}, std::pair{8192, 1}}) {
    const RunResult result = Run(placed, {"--fast-memory-bytes", std::to_string(bytes), "--json"});
    EXPECT_EQ(result.exit_code, exit_code);
    const json report = json::parse(result.out);
    EXPECT_EQ(report["valid"], exit_code == 0);
    EXPECT_EQ(report["peak_bytes"], 12288);
    EXPECT_EQ(report["capacity_bytes"], bytes);
  }
  ExpectOneErrorLine(Run(placed, {"--fast-memory-bytes", "1"}), "--fast-memory-bytes");
}

TEST_F(CheckPlacedCommand, PrintsALineForEachViolationAndFails) {
  const std::string wrong =
      place_check::Replaced(place_check::kChain.placed, "copy-start(w)", "copy-start(x)");
  const RunResult result = Run(Write("wrong.pb", wrong));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, StartsWith("operand_value: 'f1' in 'main': operand 1 "));
  const RunResult machine = Run(folder_.Path("wrong.pb"), {"--json"});
  EXPECT_EQ(machine.exit_code, 1);
  const json report = json::parse(machine.out);
  EXPECT_EQ(report["valid"], false);
  EXPECT_EQ(report["violations"][0]["rule"], "operand_value");
}

TEST_F(CheckPlacedCommand, RefusesWhatIsNoModule) {
  const std::string path = folder_.Path("text.pb");
  std::ofstream(path) << "HloModule main\n";
  ExpectOneErrorLine(Run(path), "text.pb: expected a serialised HloModuleProto");
  ExpectOneErrorLine(Run(folder_.Path("none.pb")), "none.pb");
}

}  // namespace
}  // namespace mallocmuzero::e2e
