// Turns a mapping into compiler options, and reads a recompiled module back, through the binary.

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Arguments = std::vector<std::string>;

constexpr char kTensorOption[] = "xla_tpu_msa_tensor_overrides";
constexpr char kSortOption[] = "xla_tpu_msa_sort_order_overrides";

class Loop : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments(Name(), program_)).exit_code, 0);
  }

  virtual std::string Name() const { return GetParam(); }
  std::string Hlo(const std::string& file) const { return TestData("hlo/" + Name() + "/" + file); }

  Arguments Overrides(const std::string& mapping) const {
    return {"overrides", "--program", program_, "--mapping", mapping, "--output", options_};
  }

  Arguments Readback(const std::string& hlo, const std::string& mapping) const {
    return {"readback", "--program", program_, "--hlo", hlo, "--mapping", mapping};
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("p.program");
  const std::string options_ = folder_.Path("o.options");
};

TEST_P(Loop, TheDefaultIsAskedForByAnEmptyFile) {
  const json report = RunForJson(Overrides("default"));
  EXPECT_EQ(report["program"], "p");
  EXPECT_THAT(report["items"], IsEmpty());
  EXPECT_EQ(report["options"], json::object());
  EXPECT_EQ(ReadAll(options_), "");
}

TEST_P(Loop, OptionsAreTheItemsTextsInTheOrderOfTheirGain) {
  for (const char* mapping : {"all_hbm", "all_fast"}) {
    const json report = RunForJson(Overrides(mapping));
    std::string tensor;
    std::string sort;
    double last_gain = 1e300;
    for (const json& item : report["items"]) {
      EXPECT_FALSE(item["accesses"].empty());
      EXPECT_LE(item["gain_cycles"], last_gain);
      last_gain = item["gain_cycles"];
      for (const json& text : item["tensor_overrides"]) {
        tensor += (tensor.empty() ? "" : " ") + text.get<std::string>();
      }
      for (const json& text : item["sort_overrides"]) {
        sort += (sort.empty() ? "" : " ") + text.get<std::string>();
      }
    }
    EXPECT_EQ(report["options"].value(kTensorOption, ""), tensor);
    EXPECT_EQ(report["options"].value(kSortOption, ""), sort);
    std::string lines;
    if (!sort.empty()) lines += std::string(kSortOption) + "=" + sort + "\n";
    if (!tensor.empty()) lines += std::string(kTensorOption) + "=" + tensor + "\n";
    EXPECT_EQ(ReadAll(options_), lines);
  }
}

TEST_P(Loop, EverythingInHbmKeepsEveryValueTheDefaultHasInFastMemory) {
  const json report = RunForJson(Overrides("all_hbm"));
  EXPECT_FALSE(report["items"].empty());
  for (const json& item : report["items"]) EXPECT_EQ(item["kind"], "keep_value");
  EXPECT_EQ(report["left_out_accesses"], 0);
  EXPECT_FALSE(report["options"].contains(kSortOption));
}

TEST_P(Loop, TheDefaultsModuleIsReadBackAsTheDefault) {
  const std::string hlo = Hlo("default.hlo.zst");
  const json report = RunForJson(Readback(hlo, "default"));
  const json compiled = RunForJson({"simulate", "--hlo", hlo, "--hardware", "tpu_v4i"});
  EXPECT_EQ(report["compiled_cycles"], compiled["total_cycles"]);
  EXPECT_EQ(report["default_cycles"], compiled["total_cycles"]);
  EXPECT_EQ(report["mapped_cycles"], report["default_mapped_cycles"]);
  EXPECT_EQ(report["wanted_cycles"], report["mapped_cycles"]);
  EXPECT_EQ(report["followed_share"], 1);
  EXPECT_THAT(report["mismatches"], IsEmpty());
}

TEST_P(Loop, MismatchesComeLargestFirstAndTheMappingReadBackCanBePriced) {
  const std::string output = folder_.Path("back.mapping");
  Arguments command = Readback(Hlo("sample_4.hlo.zst"), "default");
  if (Name() == "resnet50_b1") command = Readback(Hlo("sample_1.hlo.zst"), "default");
  command.insert(command.end(), {"--output", output});
  const json report = RunForJson(command);
  EXPECT_GT(report["mismatch_count"], 0);
  EXPECT_LT(report["followed_share"], 1);
  EXPECT_GT(report["followed_share"], 0);
  double last_bytes = 1e300;
  for (const json& mismatch : report["mismatches"]) {
    const double bytes = mismatch["bytes"].get<double>() * mismatch["executions"].get<double>();
    EXPECT_LE(bytes, last_bytes);
    last_bytes = bytes;
  }
  const json price = RunForJson({"simulate", "--program", program_, "--mapping", output});
  EXPECT_EQ(price["total_cycles"], report["mapped_cycles"]);
  // The text lists ten of them, after a title and two lines of header.
  const std::string text = RunMallocmuzero(command).out + "\n";
  const std::string table = text.substr(text.find("Not placed as wanted: "));
  const std::string rows = table.substr(0, table.find("\n\n") + 1);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'),
            3 + std::min<int>(10, report["mismatch_count"]))
      << table;
}

TEST_P(Loop, AScheduleWithoutEstimatesIsReadAsAPlacement) {
  const auto text = ReadFile(Hlo("default.hlo.zst"));
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string bare = std::regex_replace(
      std::string(*text), std::regex(R"("estimated_cycles":"[0-9]+",?)"), std::string());
  const json report = RunForJson(Readback(folder_.Write("dump.hlo", bare), "default"));
  EXPECT_FALSE(report.contains("compiled_cycles"));
  EXPECT_EQ(report["mapped_cycles"], report["default_mapped_cycles"]);
  EXPECT_EQ(report["followed_share"], 1);
}

INSTANTIATE_TEST_SUITE_P(Programs, Loop,
                         ::testing::Values("decode_b1", "gpt_b16", "gpt_scan", "resnet50_b1"),
                         [](const auto& info) { return info.param; });

class LoopBadInput : public Loop {
 protected:
  std::string Name() const override { return "gpt_small"; }

  std::string HalfOf(const std::string& path, const std::string& name) const {
    const std::string bytes = ReadAll(path);
    return folder_.Write(name, bytes.substr(0, bytes.size() / 2));
  }

  std::string MappingOfAnotherProgram() const {
    return folder_.Write("other.textproto",
                         "header { message: \"mallocmuzero.v1.Mapping\" version: 1 }\n"
                         "program_sha256: \"" +
                             std::string(32, 'a') + "\"\n");
  }
};

TEST_F(LoopBadInput, OverridesNamesWhatIsWrongAndWritesNothing) {
  ExpectOneErrorLine(RunMallocmuzero(Overrides(MappingOfAnotherProgram())),
                     "other\\.textproto.*another program");
  ExpectOneErrorLine(RunMallocmuzero(Overrides(folder_.Path("none.mapping"))), "none\\.mapping");
  Arguments command = Overrides("all_hbm");
  command.insert(command.end(), {"--scope", "everything"});
  ExpectOneErrorLine(RunMallocmuzero(command), "--scope");
  command = Overrides("all_hbm");
  command[2] = HalfOf(program_, "cut.program");
  ExpectOneErrorLine(RunMallocmuzero(command), "cut\\.program");
  EXPECT_FALSE(std::filesystem::exists(options_));
}

TEST_F(LoopBadInput, OverridesNeedsAProgramWithADefault) {
  ASSERT_EQ(RunMallocmuzero({"import", "--all-hbm", Hlo("all_hbm.hlo.zst"), "--hardware", "tpu_v4i",
                             "--output", program_})
                .exit_code,
            0);
  ExpectOneErrorLine(RunMallocmuzero(Overrides("all_hbm")), "no default mapping");
}

TEST_F(LoopBadInput, OverridesFailsIfTheOutputCannotBeWritten) {
  Arguments command = Overrides("all_hbm");
  command.back() = folder_.Path("no/such/folder/o.options");
  const RunResult result = RunMallocmuzero(command);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no/such/folder/o.options"));
}

TEST_F(LoopBadInput, ReadbackNamesWhatIsWrong) {
  const std::string good = Hlo("default.hlo.zst");
  ExpectOneErrorLine(RunMallocmuzero(Readback(good, MappingOfAnotherProgram())),
                     "other\\.textproto.*another program");
  ExpectOneErrorLine(RunMallocmuzero(Readback(HalfOf(good, "cut.hlo.zst"), "default")),
                     "cut\\.hlo\\.zst");
  ExpectOneErrorLine(RunMallocmuzero(Readback("-", "default")), "--hlo -: expected with --json");
  ExpectOneErrorLine(RunMallocmuzero(Readback(folder_.Write("empty.hlo", ""), "default")),
                     "empty\\.hlo");
  ExpectOneErrorLine(
      RunMallocmuzero(Readback(TestData("hlo/resnet50_b1/default.hlo.zst"), "default")),
      "default\\.hlo\\.zst: expected a compile of");
}

// The programs of the corpus are of an import that did not store their source.
TEST(ReadbackOfAnOlderImport, NeedsTheAllHbmTextOfTheProgram) {
  const std::string name = "tpu_v6e/dit_4x1024_b48x256";
  const std::string workloads = MALLOCMUZERO_SOURCE_DIR "/workloads/";
  const Arguments without = {"readback",
                             "--program",
                             workloads + name + ".program",
                             "--hlo",
                             workloads + "captures/" + name + "/default.hlo.zst",
                             "--mapping",
                             "default",
                             "--json"};
  ExpectOneErrorLine(RunMallocmuzero(without),
                     "older import: import it again, or give its all-HBM");
  Arguments with = without;
  with.insert(with.end(), {"--all-hbm", workloads + "captures/" + name + "/all_hbm.hlo.zst"});
  const RunResult result = RunMallocmuzero(with);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["followed_share"], 1);
  with.back() = TestData("hlo/gpt_b16/all_hbm.hlo.zst");
  ExpectOneErrorLine(RunMallocmuzero(with), "all_hbm\\.hlo\\.zst: expected the all-HBM compile");
}

}  // namespace
}  // namespace mallocmuzero::e2e
