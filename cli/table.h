// Text for people: tables, and numbers with separators and units.

#ifndef MALLOCMUZERO_CLI_TABLE_H_
#define MALLOCMUZERO_CLI_TABLE_H_

#include <string>
#include <utility>
#include <vector>

namespace mallocmuzero::cli {

// A table of text cells, printed for people with aligned columns or as GitHub Markdown. Plain text
// in both cases, so that output is the same in a terminal, a file and a pipe.
//
//   instruction        Mcycles   share
//   ---------------  ---------  ------
//   fusion.12            1.204  12.1 %
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end are empty; a row must not have more cells than there are columns.
  void AddRow(std::vector<std::string> cells);

  // Header, rule, rows; each line ends with a newline and has no trailing blanks.
  std::string ToText() const;

  // The same as a Markdown table; '|' in a cell is escaped.
  std::string ToMarkdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "name   value" lines with the names padded to one width, for a handful of facts. Lines whose
// value is empty are left out.
std::string FactList(const std::vector<std::pair<std::string, std::string>>& facts);

// "1,234,567".
std::string FormatCount(double count);

// Cycles as "1,234.568 Mcycles"; fewer than 1,000 cycles as "12 cycles".
std::string FormatCycles(double cycles);

// Cycles in millions with three decimals and no unit, for a column whose header names it.
std::string FormatMegacycles(double cycles);

// Bytes in MiB with one decimal and no unit, for a column whose header names it.
std::string FormatMebibytes(double bytes);

// How `value` compares with a positive `reference`: "12.30 % below", "0.40 % above" or "equal to".
std::string FormatChange(double value, double reference);

// A share of one as "12.3 %".
std::string FormatPercent(double share, int decimals = 1);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_TABLE_H_
