#include "view/line_chart.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "view/testing/xml.h"

namespace mallocmuzero::view {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::Parsed;
using testing::Texts;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The attributes `d` of all paths of a class.
std::vector<std::string> Paths(const testing::Element& root, const std::string& style) {
  std::vector<std::string> paths;
  for (const testing::Element* path : root.Find("path")) {
    if (path->attributes.at("class") == style) paths.push_back(path->attributes.at("d"));
  }
  return paths;
}

Chart OneLine(std::vector<ChartPoint> points) {
  return {.title = "loss",
          .note = "",
          .x_label = "updates",
          .y_label = "nats",
          .lines = {{.name = "policy", .style = LineStyle::kBlue, .points = std::move(points)}},
          .levels = {}};
}

// A page with one chart has its plot at x from 86 to 862 and, without a legend, at y from 98 to
// 434.
TEST(ChartsSvg, DrawsALineFromCornerToCorner) {
  const testing::Element root = Parsed(ChartsSvg("run", "3 facts", {OneLine({{0, 0}, {10, 5}})}));
  EXPECT_THAT(Paths(root, "line blue"), ElementsAre("M86 434L862 98"));
}

TEST(ChartsSvg, NamesAxesAndTicksAtRoundNumbers) {
  const testing::Element root =
      Parsed(ChartsSvg("a < b", "3 facts", {OneLine({{0, 0.1}, {55, 1.9}})}));
  // 1.8 in at most 5 steps gives steps of 0.5; 55 in at most 6 gives steps of 10.
  EXPECT_THAT(Texts(root),
              IsSupersetOf({"a < b", "3 facts", "loss", "updates", "nats", "0.0", "0.5", "1.0",
                            "1.5", "2.0", "0", "10", "20", "30", "40", "50"}));
  EXPECT_THAT(Texts(root), Not(Contains("60")));
}

TEST(ChartsSvg, HasALegendIfThereIsMoreThanOneName) {
  Chart chart = OneLine({{1, 1}, {2, 2}});
  EXPECT_THAT(Parsed(ChartsSvg("", "", {chart})).Find("g", "legend"), IsEmpty());
  chart.levels = {{"greedy", LineStyle::kGreyDashes, 1.5}};
  const testing::Element root = Parsed(ChartsSvg("", "", {chart, chart}));
  const std::vector<const testing::Element*> legends = root.Find("g", "legend");
  ASSERT_EQ(legends.size(), 1);
  EXPECT_THAT(Texts(*legends[0]), ElementsAre("policy", "greedy"));
  EXPECT_EQ(root.Find("g", "chart").size(), 2);
}

TEST(ChartsSvg, SaysSoIfThereAreNoPoints) {
  for (const Chart& chart : {Chart(), OneLine({}), OneLine({{1, kNan}, {kInfinity, 2}})}) {
    const testing::Element root = Parsed(ChartsSvg("", "", {chart}));
    EXPECT_THAT(Texts(root), Contains("nothing measured yet"));
    EXPECT_THAT(Paths(root, "line blue"), IsEmpty());
  }
  EXPECT_THAT(Parsed(ChartsSvg("", "", {})).Find("g", "chart"), IsEmpty());
}

TEST(ChartsSvg, LeavesGapsWhereThereIsNoNumber) {
  const testing::Element root = Parsed(ChartsSvg(
      "", "",
      {OneLine({{0, 0}, {2, 5}, {3, kNan}, {4, 5}, {5, kInfinity}, {6, 1e40}, {8, 0}, {10, 5}})}));
  EXPECT_THAT(Paths(root, "line blue"), ElementsAre("M86 434L241.2 98M706.8 434L862 98"));
  // The single point is a dot.
  EXPECT_THAT(Paths(root, "line dot blue"), ElementsAre("M396.4 98h0"));
}

TEST(ChartsSvg, DrawsOnePointAsADot) {
  const testing::Element root = Parsed(ChartsSvg("", "", {OneLine({{5, 3}})}));
  ASSERT_EQ(Paths(root, "line dot blue").size(), 1);
  EXPECT_THAT(Paths(root, "line dot blue")[0], HasSubstr("M862 "));
}

TEST(ChartsSvg, PutsAConstantInTheMiddle) {
  // The range 45 to 55 around 50 becomes 44 to 56.
  const testing::Element root = Parsed(ChartsSvg("", "", {OneLine({{0, 50}, {1, 50}})}));
  EXPECT_THAT(Paths(root, "line blue"), ElementsAre("M86 266L862 266"));
  EXPECT_THAT(Texts(root), IsSupersetOf({"44", "50", "56"}));
  EXPECT_THAT(Texts(Parsed(ChartsSvg("", "", {OneLine({{0, 0}, {0, 0}})}))),
              IsSupersetOf({"-1.0", "0.0", "1.0"}));
}

TEST(ChartsSvg, DrawsNearLevelsAndNamesFarOnes) {
  Chart chart = OneLine({{0, 9}, {10, 10}});
  chart.levels = {{"greedy", LineStyle::kRedDashes, 8.5},
                  {"default", LineStyle::kGreyDashes, 0},
                  {"hope", LineStyle::kGreyDashes, 99.96},
                  {"unknown", LineStyle::kGreyDashes, kNan}};
  const testing::Element root = Parsed(ChartsSvg("", "", {chart}));
  const testing::Element& drawn = *root.Find("g", "chart")[0];
  EXPECT_EQ(Paths(drawn, "level red").size(), 1);
  EXPECT_THAT(Paths(drawn, "level grey"), IsEmpty());
  EXPECT_THAT(Texts(drawn), IsSupersetOf({"↓ default 0.0", "↑ hope 100.0"}));
  EXPECT_THAT(Texts(drawn), Not(Contains(HasSubstr("unknown"))));
}

TEST(ChartsSvg, NamesFarLevelsWhereNoLinePasses) {
  // Greedy is the lowest line, along the lower edge, so that 14 pixels above it are free.
  Chart chart = OneLine({{0, 9}, {10, 10}});
  const auto place_of_default = [&] {
    const testing::Element root = Parsed(ChartsSvg("", "", {chart}));
    for (const testing::Element* text : root.Find("text", "far")) {
      if (text->text == "↓ default 0.0") return text->attributes.at("y");
    }
    return std::string("nowhere");
  };
  // The plot ends at y = 464, because of the legend.
  chart.levels = {{"default", LineStyle::kGreyDashes, 0}};
  EXPECT_EQ(place_of_default(), "457");
  chart.levels.push_back({"greedy", LineStyle::kRedDashes, 9.02});
  EXPECT_EQ(place_of_default(), "443");
}

TEST(ChartsSvg, HasALegendOfWhatIsDrawn) {
  Chart chart = OneLine({{1, 1}, {2, 2}});
  chart.lines.push_back({"best", LineStyle::kGreen, {{1, 2}, {2, 3}}});
  chart.lines.push_back({"nothing", LineStyle::kOrange, {{1, kNan}}});
  const testing::Element root = Parsed(ChartsSvg("", "", {chart}));
  const std::vector<const testing::Element*> legends = root.Find("g", "legend");
  ASSERT_EQ(legends.size(), 1);
  EXPECT_THAT(Texts(*legends[0]), ElementsAre("policy", "best"));
}

TEST(ChartsSvg, StaysSmallHoweverManyPointsThereAre) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 200'000; ++i) points.push_back({1.0 * i, 1.0 * (i * 7919 % 1000)});
  EXPECT_LT(ChartsSvg("", "", {OneLine(points)}).size(), 100'000);
}

TEST(ChartsSvg, SurvivesNamesThatAreNoXmlAndNumbersWithoutScale) {
  Chart chart = OneLine({{-5, -1e30}, {0, 1e30}, {1e30, 1e-300}});
  chart.title = "<&\xff";
  chart.lines[0].name = "\"'";
  Parsed(ChartsSvg("</svg>", "\x01", {chart}));
}

TEST(ThinOut, KeepsFirstLowestHighestAndLastOfAColumn) {
  const std::vector<ChartPoint> points = {{0, 5}, {1, 9}, {2, 4}, {3, 6}, {4, 5}, {6, 1}};
  std::vector<double> kept;
  for (const ChartPoint& point : ThinOut(points, 10, 2)) kept.push_back(point.x);
  // point 3 is neither lowest nor highest; point 6 has a column of its own
  EXPECT_THAT(kept, ElementsAre(0, 1, 2, 4, 6));
}

TEST(ThinOut, KeepsGapsAsOne) {
  const std::vector<ChartPoint> points = {{0, kNan}, {1, 1}, {2, kNan}, {3, kNan}, {4, 2}};
  std::vector<double> kept;
  for (const ChartPoint& point : ThinOut(points, 10, 1)) kept.push_back(point.x);
  EXPECT_THAT(kept, ElementsAre(1, 2, 4));
}

}  // namespace
}  // namespace mallocmuzero::view
