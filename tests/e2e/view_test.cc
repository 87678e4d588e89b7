// Pictures and explanations of mappings, through the binary.

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class View : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program_)).exit_code, 0);
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("gpt_small.program");
  const std::string svg_ = folder_.Path("picture.svg");
};

TEST_F(View, PlotsAMappingBesideTheDefault) {
  const RunResult result =
      RunMallocmuzero({"plot", "--program", program_, "--mapping", "all_hbm", "--output", svg_});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(ReadAll(svg_), AllOf(StartsWith("<svg "), EndsWith("</svg>\n"),
                                   HasSubstr(">all_hbm (everything in HBM)</text>"),
                                   HasSubstr(">default (the compiler&apos;s own)</text>"),
                                   HasSubstr("the compiled default</text>")));
}

TEST_F(View, PlotsTheDefaultAloneIfNoMappingIsGiven) {
  ASSERT_EQ(RunMallocmuzero({"plot", "--program", program_, "--by-instruction", "--output", svg_})
                .exit_code,
            0);
  EXPECT_THAT(ReadAll(svg_), AllOf(HasSubstr("default (the compiler"), HasSubstr(">instruction<"),
                                   Not(HasSubstr("all_hbm"))));
}

TEST_F(View, ExplainsTheDefaultAgainstEverythingInHbm) {
  const RunResult result = RunMallocmuzero({"explain", "--program", program_, "--mapping",
                                            "default", "--against", "all_hbm", "--limit", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("total of default"), HasSubstr("instead of HBM"),
                                HasSubstr("other tensors")));
  // Each part of a reason has a line of its own.
  EXPECT_THAT(result.out, HasSubstr(";\n                "));
}

// The loop's copies make the default cheaper as a module than as a mapping. `simulate` and `map`
// compare with the module.
TEST_F(View, ExplainsWithBothPricesOfTheDefaultWhereTheyDiffer) {
  const std::string program = folder_.Path("while.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("while_copied_in", program)).exit_code, 0);
  const RunResult differs =
      RunMallocmuzero({"explain", "--program", program, "--mapping", "all_hbm"});
  EXPECT_THAT(differs.out, HasSubstr("\ndefault as compiled "));
  const nlohmann::json report =
      RunForJson({"explain", "--program", program, "--mapping", "all_hbm"});
  const nlohmann::json price = RunForJson({"simulate", "--program", program});
  EXPECT_EQ(report["default_compiled_cycles"], price["default_cycles"]);
  EXPECT_LT(report["default_compiled_cycles"], report["reference_cycles"]);
  const RunResult same =
      RunMallocmuzero({"explain", "--program", program_, "--mapping", "all_hbm"});
  EXPECT_THAT(same.out, Not(HasSubstr("default as compiled")));
}

TEST_F(View, ReasonsAsJsonAddUpToTheDifference) {
  const RunResult result = RunMallocmuzero(
      {"explain", "--program", program_, "--mapping", "default", "--against", "all_hbm", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  double gained = 0;
  for (const nlohmann::json& reason : report["reasons"]) {
    gained += reason["cycles_gained"].get<double>();
  }
  const double total = report["total_cycles"];
  EXPECT_NEAR(gained, report["reference_cycles"].get<double>() - total, 1e-9 * total);
  EXPECT_EQ(report["reasons"][0]["kind"], "tensor");
}

TEST_F(View, RefusesWhatItCannotDraw) {
  const RunResult missing = RunMallocmuzero(
      {"plot", "--program", program_, "--mapping", "none.mapping", "--output", svg_});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.mapping"));
  const RunResult unwritable =
      RunMallocmuzero({"plot", "--program", program_, "--output", folder_.Path("no/where.svg")});
  EXPECT_EQ(unwritable.exit_code, 2);
  EXPECT_THAT(unwritable.err, HasSubstr("where.svg"));
  EXPECT_EQ(
      RunMallocmuzero({"explain", "--program", program_, "--mapping", "default", "--limit", "-1"})
          .exit_code,
      2);
}

TEST_F(View, APictureThatIsNoSvgIsRefusedByItsName) {
  const std::string picture = folder_.Path("memory.PNG");
  ExpectOneErrorLine(RunMallocmuzero({"plot", "--program", program_, "--output", picture}),
                     "memory\\.PNG: pictures are SVG; a name such as memory\\.svg expected");
  ExpectOneErrorLine(RunMallocmuzero({"map", "--program", program_, "--budget", "10m", "--output",
                                      folder_.Path("m.mapping"), "--plot", picture}),
                     "memory\\.PNG: pictures are SVG");
}

TEST_F(View, AsksForAMappingIfTheProgramHasNoDefault) {
  const std::string bare = folder_.Path("bare.program");
  ASSERT_EQ(RunMallocmuzero({"import", "--all-hbm", TestData("hlo/gpt_small/all_hbm.hlo.zst"),
                             "--hardware", "tpu_v4i", "--output", bare})
                .exit_code,
            0);
  const RunResult plot = RunMallocmuzero({"plot", "--program", bare, "--output", svg_});
  EXPECT_EQ(plot.exit_code, 2);
  EXPECT_THAT(plot.err, AllOf(HasSubstr("bare.program"), HasSubstr("--mapping")));
  EXPECT_EQ(RunMallocmuzero({"explain", "--program", bare, "--mapping", "all_hbm"}).exit_code, 2);
}

}  // namespace
}  // namespace mallocmuzero::e2e
