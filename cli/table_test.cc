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

// Names of operations come from users' code.
TEST(Table, KeepsARowOnItsLineAndAlignsCharacters) {
  Table table({{"operation", Table::Align::kLeft}, {"share", Table::Align::kRight}});
  table.AddRow(
      {"gr\xc3\xb6\xc3\x9f"
       "e/\xce\xbc",
       "1 %"});
  table.AddRow({"two\r\nlines\x1b[31m", "2 %"});
  EXPECT_EQ(table.ToText(),
            "operation        share\n"
            "---------------  -----\n"
            "gr\xc3\xb6\xc3\x9f"
            "e/\xce\xbc            1 %\n"
            "two  lines [31m    2 %\n");
  EXPECT_THAT(table.ToMarkdown(), ::testing::HasSubstr("| two  lines [31m | 2 % |\n"));
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

}  // namespace
}  // namespace mallocmuzero::cli
