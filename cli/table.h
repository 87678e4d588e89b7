// Text for people: tables and lists of facts.

#ifndef MALLOCMUZERO_CLI_TABLE_H_
#define MALLOCMUZERO_CLI_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "view/format.h"

namespace mallocmuzero::cli {

// A table of text cells, printed for people with aligned columns or as GitHub Markdown. Plain text
// in both cases, so that output is the same in a terminal, a file and a pipe.
//
//   instruction        Mcycles   share
//   ---------------  ---------  ------
//   fusion.12            1.204  12.1 %
class Table {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end are empty; a row must not have more cells than there are columns.
  // Control characters in a cell become blanks.
  void AddRow(std::vector<std::string> cells);

  // Header, rule, rows; each line ends with a newline and has no trailing blanks.
  std::string ToText() const;

  // Returns a Markdown table. The character '|' in a cell is escaped.
  std::string ToMarkdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "name   value" lines with the names padded to one width, for a handful of facts. Lines whose
// value is empty are left out.
std::string FactList(const std::vector<std::pair<std::string, std::string>>& facts);

// Numbers are formatted as in pictures and explanations.
using view::FormatBytes;
using view::FormatChange;
using view::FormatCount;
using view::FormatCounted;
using view::FormatCycles;
using view::FormatMebibytes;
using view::FormatMegacycles;
using view::FormatPercent;

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_TABLE_H_
