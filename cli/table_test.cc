#include "cli/table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

TEST(Table, AlignsColumnsToTheirWidestCellAndLeavesNoTrailingBlanks) {
  Table table({{"name", Table::Align::kLeft},
               {"Mcycles", Table::Align::kRight},
               {"note", Table::Align::kLeft}});
  table.AddRow({"a_long_name", "1.5"});
  table.AddRow({"b", "1,234.25", "in HBM"});
  EXPECT_EQ(table.ToText(),
            "name          Mcycles  note\n"
            "-----------  --------  ------\n"
            "a_long_name       1.5\n"
            "b            1,234.25  in HBM\n");
}

TEST(Table, WritesMarkdownWithAlignmentAndEscapedBars) {
  Table table({{"name", Table::Align::kLeft}, {"share", Table::Align::kRight}});
  table.AddRow({"a|b", "1 %"});
  EXPECT_EQ(table.ToMarkdown(),
            "| name | share |\n"
            "| --- | ---: |\n"
            "| a\\|b | 1 % |\n");
}

TEST(FactList, PadsNamesAndLeavesOutEmptyFacts) {
  EXPECT_EQ(FactList({{"total", "3"}, {"a much longer name", ""}, {"stalls", "1"}}),
            "total   3\n"
            "stalls  1\n");
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-123456), "-123,456");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
}

TEST(FormatCycles, ChoosesTheUnitBySize) {
  EXPECT_EQ(FormatCycles(12), "12 cycles");
  EXPECT_EQ(FormatCycles(1234567890), "1,234.568 Mcycles");
  EXPECT_EQ(FormatMegacycles(1500), "0.002");
}

TEST(FormatMebibytes, HasOneDecimal) { EXPECT_EQ(FormatMebibytes(1536.0 * 1024), "1.5"); }

TEST(FormatChange, SaysHowAValueComparesWithItsReference) {
  EXPECT_EQ(FormatChange(75, 100), "25.00 % below");
  EXPECT_EQ(FormatChange(100.4, 100), "0.40 % above");
  EXPECT_EQ(FormatChange(100, 100), "equal to");
}

TEST(FormatPercent, TakesAShareOfOne) {
  EXPECT_EQ(FormatPercent(0.1234), "12.3 %");
  EXPECT_EQ(FormatPercent(0.1234, 2), "12.34 %");
}

}  // namespace
}  // namespace mallocmuzero::cli
