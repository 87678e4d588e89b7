#include "simulator/import/read_back.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/hardware.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/import.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::Cycles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SmallHardware;

std::string WriteText(const std::string& name, const std::string& text) {
  std::string path = absl::StrCat(::testing::TempDir(), "/read_back_", name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

// %b = -%a, %c = -%b, of 400 bytes each; %b is in HBM or in fast memory. The estimates are 80 and
// 40 cycles, or there are none.
std::string TwoNegations(bool fast, bool estimates = true) {
  const std::string layout = fast ? "f32[100]{0:S(3)}" : "f32[100]{0}";
  const std::string cycles = estimates ? Cycles(fast ? 40 : 80) : "";
  return hlo::EntryModule(absl::StrCat("%a = f32[100] parameter(0)\n%b = ", layout, " negate(%a)",
                                       cycles, "\nROOT %c = f32[100] negate(%b)", cycles));
}

Program MustImport(const ImportOptions& options, const v1::Hardware& hardware) {
  absl::StatusOr<v1::Program> proto = ImportProgram(options, hardware);
  if (!proto.ok()) ADD_FAILURE() << proto.status();
  absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  if (!program.ok()) ADD_FAILURE() << program.status();
  return *std::move(program);
}

class ReadBackOfTwoNegations : public ::testing::Test {
 protected:
  const std::string all_hbm_ = WriteText("all_hbm.hlo", TwoNegations(false));
  const std::string default_ = WriteText("default.hlo", TwoNegations(true));
  const Program program_ =
      MustImport({.all_hbm_path = all_hbm_, .default_path = default_}, SmallHardware());
  const Mapping baseline_ = *BaselineMapping(program_);
};

TEST_F(ReadBackOfTwoNegations, FindsThePlacementAndThePrices) {
  const auto read_back = ModuleReader::Create(program_)->Read(default_);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  EXPECT_EQ(read_back->mapping.in_fast_memory, baseline_.in_fast_memory);
  EXPECT_EQ(read_back->mapping.intervals, baseline_.intervals);
  EXPECT_TRUE(read_back->packed);
  const v1::ReadBackReport report = MakeReadBackReport(program_, *read_back, &baseline_);
  EXPECT_EQ(report.compiled_cycles(), 80);  // 40 + 40
  EXPECT_EQ(report.mapped_cycles(), 80);
  EXPECT_EQ(report.default_cycles(), 80);
  EXPECT_EQ(report.default_mapped_cycles(), 80);
  EXPECT_EQ(report.wanted_cycles(), 80);
  EXPECT_EQ(report.followed_share(), 1);
  EXPECT_EQ(report.matched_share(), 1);
  EXPECT_EQ(report.mismatch_count(), 0);
  EXPECT_THAT(report.mismatches(), IsEmpty());
  EXPECT_THAT(report.fast_accesses(), ElementsAre(1, 2));  // the write of %b, and its read by %c
  EXPECT_EQ(report.fast_memory_bytes(), program_.hardware().fast_memory_bytes());
}

TEST_F(ReadBackOfTwoNegations, ListsWhatIsNotAsWanted) {
  const auto read_back = ModuleReader::Create(program_)->Read(all_hbm_);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  const v1::ReadBackReport report = MakeReadBackReport(program_, *read_back, &baseline_);
  EXPECT_EQ(report.compiled_cycles(), 160);
  EXPECT_EQ(report.mapped_cycles(), 160);
  EXPECT_EQ(report.wanted_cycles(), 80);
  // Two of four accesses of 400 bytes are not in fast memory as wanted: the write of %b and its
  // read by %c.
  EXPECT_EQ(report.followed_share(), 0.5);
  EXPECT_EQ(report.mismatch_count(), 2);
  ASSERT_EQ(report.mismatches_size(), 2);
  EXPECT_EQ(report.mismatches(0).instruction(), "b");
  EXPECT_EQ(report.mismatches(1).instruction(), "c");
  EXPECT_EQ(report.mismatches(0).buffer(), report.mismatches(1).buffer());
  EXPECT_EQ(report.mismatches(0).bytes(), 400);
  EXPECT_EQ(report.mismatches(0).executions(), 1);
  EXPECT_TRUE(report.mismatches(0).wanted_fast());
  EXPECT_THAT(report.fast_accesses(), IsEmpty());
}

TEST_F(ReadBackOfTwoNegations, WithoutAWantedMappingThereIsNothingToCompareWith) {
  const auto read_back = ModuleReader::Create(program_)->Read(all_hbm_);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  const v1::ReadBackReport report = MakeReadBackReport(program_, *read_back, nullptr);
  EXPECT_FALSE(report.has_wanted_cycles());
  EXPECT_FALSE(report.has_followed_share());
  EXPECT_EQ(report.mismatch_count(), 0);
}

TEST_F(ReadBackOfTwoNegations, ATextWithoutEstimatesIsPricedByTheTableOnly) {
  const auto read_back =
      ModuleReader::Create(program_)->Read(WriteText("dump.hlo", TwoNegations(true, false)));
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  EXPECT_FALSE(read_back->compiled_cycles.has_value());
  EXPECT_EQ(read_back->mapping.in_fast_memory, baseline_.in_fast_memory);
  const v1::ReadBackReport report = MakeReadBackReport(program_, *read_back, &baseline_);
  EXPECT_FALSE(report.has_compiled_cycles());
  EXPECT_EQ(report.mapped_cycles(), 80);
}

TEST_F(ReadBackOfTwoNegations, AnInstructionTheModuleLacksIsNotMatched) {
  const auto read_back = ModuleReader::Create(program_)->Read(WriteText(
      "abs.hlo", hlo::EntryModule(absl::StrCat("%a = f32[100] parameter(0)\n"
                                               "%b = f32[100]{0} negate(%a)",
                                               Cycles(80), "\nROOT %z = f32[100] abs(%b)"))));
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  const v1::ReadBackReport report = MakeReadBackReport(program_, *read_back, &baseline_);
  EXPECT_EQ(report.matched_share(), 0.5);   // 800 of the 1,600 bytes are %b's
  EXPECT_EQ(report.followed_share(), 0.5);  // the read is as wanted, the write is not
  EXPECT_EQ(report.mismatch_count(), 1);
}

// The program as an importer wrote it that did not store its source.
Program WithoutSource(const Program& program) {
  v1::Program old = program.proto();
  old.clear_source();
  SealProgram(old);
  return *Program::FromProto(std::move(old));
}

TEST_F(ReadBackOfTwoNegations, AProgramWithoutSourceNeedsItsAllHbmText) {
  const Program old = WithoutSource(program_);
  const auto refused = ModuleReader::Create(old);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("import it again"));
  const auto reader = ModuleReader::Create(old, all_hbm_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto read_back = reader->Read(default_);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  EXPECT_EQ(read_back->mapping.in_fast_memory, baseline_.in_fast_memory);
  EXPECT_EQ(read_back->mapping.intervals, baseline_.intervals);
}

TEST_F(ReadBackOfTwoNegations, AnotherAllHbmTextIsRefused) {
  const std::string other = WriteText(
      "other.hlo", hlo::EntryModule("%a = f32[100] parameter(0)\nROOT %b = f32[100] negate(%a)"));
  const Program old = WithoutSource(program_);
  const auto reader = ModuleReader::Create(old, other);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(reader.status().message()),
              HasSubstr("other.hlo: expected the all-HBM compile"));
}

TEST_F(ReadBackOfTwoNegations, AModuleWithoutAnInstructionOfTheProgramIsRefused) {
  const std::string foreign = WriteText(
      "foreign.hlo", hlo::EntryModule("%a = f32[100] parameter(0)\nROOT %z = f32[100] abs(%a)"));
  const auto read_back = ModuleReader::Create(program_)->Read(foreign);
  EXPECT_EQ(read_back.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read_back.status().message()),
              HasSubstr("foreign.hlo: expected a compile of"));
}

TEST_F(ReadBackOfTwoNegations, AMissingFileIsNotFound) {
  const auto read_back = ModuleReader::Create(program_)->Read("no/such.hlo");
  EXPECT_EQ(read_back.status().code(), absl::StatusCode::kNotFound);
}

// %x = -%a. If `listed`, the text says that %x takes over the buffer of %a.
std::string ListedModule(bool listed) {
  return hlo::EntryModule(
      absl::StrCat("%a = f32[100] parameter(0)\nROOT %x = f32[100] negate(%a), "
                   R"(backend_config={"aliasing_operands":{"lists":[)",
                   listed ? R"({"indices":["0","1"]})" : "", "]}}"));
}

// The program was imported from one more compile, which showed that the two share a buffer only by
// chance.
TEST(ReadBack, KeepsToWhatTheImportFoundToShareABuffer) {
  const std::string listed = WriteText("listed.hlo", ListedModule(true));
  const std::string not_listed = WriteText("not_listed.hlo", ListedModule(false));
  const Program apart =
      MustImport({.all_hbm_path = listed, .default_path = listed, .sample_paths = {not_listed}},
                 SmallHardware());
  EXPECT_EQ(apart.buffer_count(), 2);
  EXPECT_TRUE(ModuleReader::Create(apart)->Read(listed).ok());
  const Program shared =
      MustImport({.all_hbm_path = listed, .default_path = listed}, SmallHardware());
  EXPECT_EQ(shared.buffer_count(), 1);
  EXPECT_TRUE(ModuleReader::Create(shared)->Read(not_listed).ok());
}

class ReadBackOfRealProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().rfind("sample_", 0) == 0) {
        options_.sample_paths.push_back(entry.path().string());
      }
    }
  }

  const std::string folder_ =
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo/", GetParam(), "/");
  ImportOptions options_{.all_hbm_path = folder_ + "all_hbm.hlo.zst",
                         .default_path = folder_ + "default.hlo.zst"};
};

TEST_P(ReadBackOfRealProgram, TheDefaultIsReadBackAsTheBaseline) {
  const Program program = MustImport(options_, *LoadHardware("tpu_v4i"));
  const auto read_back = ModuleReader::Create(program)->Read(options_.default_path);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  const Mapping baseline = *BaselineMapping(program);
  EXPECT_EQ(read_back->mapping.in_fast_memory, baseline.in_fast_memory);
  EXPECT_EQ(read_back->mapping.intervals, baseline.intervals);
  EXPECT_EQ(read_back->compiled_cycles, program.baseline()->compiled_cycles);
}

TEST_P(ReadBackOfRealProgram, AProgramWithoutSourceIsReadBackTheSame) {
  const std::string& sample = options_.sample_paths.front();
  const Program program = MustImport(options_, *LoadHardware("tpu_v4i"));
  const auto read_back = ModuleReader::Create(program)->Read(sample);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  const Program old = WithoutSource(program);
  const auto of_old = ModuleReader::Create(old, options_.all_hbm_path)->Read(sample);
  ASSERT_TRUE(of_old.ok()) << of_old.status();
  EXPECT_EQ(of_old->mapping.in_fast_memory, read_back->mapping.in_fast_memory);
  EXPECT_EQ(of_old->mapping.intervals, read_back->mapping.intervals);
  EXPECT_EQ(of_old->matched, read_back->matched);
  EXPECT_EQ(of_old->compiled_cycles, read_back->compiled_cycles);
}

INSTANTIATE_TEST_SUITE_P(Corpus, ReadBackOfRealProgram,
                         ::testing::Values("decode_b1", "dlrm", "gpt_b16", "gpt_scan", "gpt_small",
                                           "resnet50_b1"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mallocmuzero
