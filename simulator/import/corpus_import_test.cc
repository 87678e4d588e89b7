// Imports the compiled programs under tests/data/hlo. Every promise of the importer must hold for
// them.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/import.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const char kFolder[] = MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo";

// Programs of which the default makes copy instructions asynchronous. A mapping keeps all
// instructions of the program, so the default costs more as a mapping than as compiled, and the
// notes must say so.
bool HasCopiesMadeAsynchronous(const std::string& name) {
  return name == "decode_b1" || name == "while_copied_in";
}

ImportOptions OptionsFor(const std::string& name) {
  const std::string folder = absl::StrCat(kFolder, "/", name);
  ImportOptions options{.all_hbm_path = folder + "/all_hbm.hlo.zst",
                        .default_path = folder + "/default.hlo.zst",
                        .sample_paths = {},
                        .program_name = name};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind("sample_", 0) == 0) options.sample_paths.push_back(entry.path().string());
  }
  std::sort(options.sample_paths.begin(), options.sample_paths.end());
  return options;
}

v1::Hardware Chip() { return *LoadHardware("tpu_v4i"); }

std::vector<std::string> ProgramNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Each program is imported once for all tests.
const Program& Imported(const std::string& name) {
  static auto& programs = *new std::map<std::string, Program>;
  const auto found = programs.find(name);
  if (found != programs.end()) return found->second;
  absl::StatusOr<v1::Program> proto = ImportProgram(OptionsFor(name), Chip());
  if (!proto.ok()) {
    ADD_FAILURE() << name << ": " << proto.status();
    std::abort();
  }
  absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  if (!program.ok()) {
    ADD_FAILURE() << name << ": " << program.status();
    std::abort();
  }
  return programs.emplace(name, *std::move(program)).first->second;
}

TEST(Corpus, HasTheProgramsTheTestsAreAbout) {
  EXPECT_THAT(ProgramNames(), IsSupersetOf({"decode_b1", "dlrm", "gpt_b16", "gpt_scan", "gpt_small",
                                            "resnet50_b1", "while_copied_in"}));
}

class CorpusImport : public ::testing::TestWithParam<std::string> {
 protected:
  const Program& program() const { return Imported(GetParam()); }
};

TEST_P(CorpusImport, IsAValidProgram) {
  EXPECT_GT(program().instruction_count(), 0);
  EXPECT_GT(program().buffer_count(), 0);
  EXPECT_EQ(program().proto().name(), GetParam());
  EXPECT_THAT(program().proto().unknown_opcodes(), IsEmpty());
}

TEST_P(CorpusImport, AllHbmCostsWhatItsCompileSays) {
  const absl::StatusOr<v1::PriceReport> priced =
      PriceModule(OptionsFor(GetParam()).all_hbm_path, Chip());
  ASSERT_TRUE(priced.ok()) << priced.status();
  EXPECT_NEAR(SimulateAllHbm(program()).total_cycles, priced->total_cycles(),
              1e-9 * priced->total_cycles());
}

TEST_P(CorpusImport, TheDefaultCostsWhatItsModuleCosts) {
  const Baseline& baseline = *program().baseline();
  const absl::StatusOr<v1::PriceReport> priced =
      PriceModule(OptionsFor(GetParam()).default_path, Chip());
  ASSERT_TRUE(priced.ok()) << priced.status();
  EXPECT_DOUBLE_EQ(baseline.compiled_cycles, priced->total_cycles());
  EXPECT_LT(baseline.compiled_cycles, SimulateAllHbm(program()).total_cycles);
  // Copy instructions that the compiler made asynchronous take time in the program, wherever their
  // data is.
  if (!HasCopiesMadeAsynchronous(GetParam())) {
    EXPECT_GE(baseline.compiled_cycles, AllFastCycles(program()));
  }
}

TEST_P(CorpusImport, TheDefaultsMappingIsValid) {
  const Baseline& baseline = *program().baseline();
  ASSERT_TRUE(baseline.packed);
  const absl::StatusOr<Mapping> mapping = BaselineMapping(program());
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  const std::vector<Violation> violations = Validate(program(), *mapping);
  for (size_t i = 0; i < std::min<size_t>(violations.size(), 5); ++i) {
    ADD_FAILURE() << std::string(RuleName(violations[i].rule)) << ": " << violations[i].message;
  }
}

TEST_P(CorpusImport, TheDefaultsMappingCostsNearlyWhatItsModuleCosts) {
  const Baseline& baseline = *program().baseline();
  const absl::StatusOr<Mapping> mapping = BaselineMapping(program());
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_DOUBLE_EQ(Simulate(program(), *mapping).total_cycles, baseline.mapped_cycles);
  const double difference =
      std::abs(baseline.mapped_cycles - baseline.compiled_cycles) / baseline.compiled_cycles;
  if (HasCopiesMadeAsynchronous(GetParam())) {
    EXPECT_GT(difference, 1e-3);
    EXPECT_THAT(baseline.notes, ::testing::Contains(HasSubstr("as a mapping the default costs")));
  } else {
    EXPECT_LE(difference, 1e-3);
  }
}

TEST_P(CorpusImport, EstimatesOfUnseenPlacementsAreClose) {
  const v1::Calibration& calibration = program().proto().calibration();
  EXPECT_EQ(calibration.placements_size(), OptionsFor(GetParam()).sample_paths.size() + 1);
  // With a single sample, the default and the sample are each predicted from the other alone.
  const double tolerable = OptionsFor(GetParam()).sample_paths.size() > 1 ? 0.03 : 0.06;
  EXPECT_LE(calibration.worst_total_error(), tolerable);
  EXPECT_LE(calibration.instruction_error(), tolerable);
}

TEST_P(CorpusImport, ReportsWhatTheProgramSays) {
  const v1::ImportReport report = MakeImportReport(program());
  EXPECT_EQ(report.instructions(), program().instruction_count());
  EXPECT_EQ(report.buffers(), program().buffer_count());
  EXPECT_TRUE(report.default_packed());
  EXPECT_DOUBLE_EQ(report.default_cycles(), program().baseline()->compiled_cycles);
  EXPECT_GT(report.default_hbm_share(), 0);
  EXPECT_LT(report.default_hbm_share(), 1);
}

INSTANTIATE_TEST_SUITE_P(Programs, CorpusImport, ::testing::ValuesIn(ProgramNames()),
                         [](const auto& test) { return test.param; });

TEST(Corpus, HalfOfAllUnseenPlacementsAreWithinOnePercent) {
  std::vector<double> errors;
  for (const std::string& name : ProgramNames()) {
    for (const auto& placement : Imported(name).proto().calibration().placements()) {
      errors.push_back(std::abs(placement.predicted_cycles() - placement.compiled_cycles()) /
                       placement.compiled_cycles());
    }
  }
  ASSERT_GT(errors.size(), 30);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 0.01);
}

TEST(Corpus, EqualFilesGiveEqualPrograms) {
  for (const char* name : {"gpt_scan", "dlrm"}) {
    const absl::StatusOr<v1::Program> again = ImportProgram(OptionsFor(name), Chip());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(SerializeDeterministically(*again),
              SerializeDeterministically(Imported(name).proto()))
        << name;
  }
}

TEST(Corpus, TheAllHbmCompileAloneIsAProgram) {
  ImportOptions options = OptionsFor("gpt_scan");
  options.default_path.clear();
  options.sample_paths.clear();
  absl::StatusOr<v1::Program> proto = ImportProgram(options, Chip());
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_FALSE(proto->has_baseline());
  const absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  EXPECT_TRUE(program.ok()) << program.status();
}

TEST(Corpus, ACompileOfAnotherFunctionIsRefused) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/stranger.hlo");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "HloModule m, is_scheduled=true\n\nENTRY %main () -> f32[3] {\n"
                                  "%a = f32[3] parameter(0)\nROOT %x = f32[3] negate(%a)\n}\n")
                  .ok());
  ImportOptions options = OptionsFor("gpt_scan");
  options.sample_paths = {path};
  const absl::Status status = ImportProgram(options, Chip()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("stranger.hlo: expected another compile"));
}

}  // namespace
}  // namespace mallocmuzero
