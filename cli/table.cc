#include "cli/table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kMega = 1e6;
constexpr double kMebi = 1024.0 * 1024.0;

std::string Pad(const std::string& cell, size_t width, Table::Align align) {
  const std::string blanks(width - std::min(width, cell.size()), ' ');
  return align == Table::Align::kLeft ? cell + blanks : blanks + cell;
}

void AppendLine(const std::vector<std::string>& cells, std::string& text) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "" : "  ", cells[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(&text, line, "\n");
}

// Puts a comma before every third digit of `digits`, which may start with a sign and go on after a
// decimal point.
std::string WithThousandsSeparators(const std::string& digits) {
  const size_t begin = digits.starts_with('-') ? 1 : 0;
  const size_t end = std::min(digits.find('.'), digits.size());
  std::string separated;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > begin && i < end && (end - i) % 3 == 0) separated += ',';
    separated += digits[i];
  }
  return separated;
}

std::string FormatDecimals(double value, int decimals) {
  return WithThousandsSeparators(absl::StrFormat("%.*f", decimals, value));
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToText() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].header.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  const auto padded = [&](auto cell_of_column) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < columns_.size(); ++i) {
      cells.push_back(Pad(cell_of_column(i), widths[i], columns_[i].align));
    }
    return cells;
  };
  std::string text;
  AppendLine(padded([&](size_t i) { return columns_[i].header; }), text);
  AppendLine(padded([&](size_t i) { return std::string(widths[i], '-'); }), text);
  for (const auto& row : rows_) AppendLine(padded([&](size_t i) { return row[i]; }), text);
  return text;
}

std::string Table::ToMarkdown() const {
  std::string text = "|";
  for (const Column& column : columns_) absl::StrAppend(&text, " ", column.header, " |");
  absl::StrAppend(&text, "\n|");
  for (const Column& column : columns_) {
    absl::StrAppend(&text, column.align == Align::kLeft ? " --- |" : " ---: |");
  }
  absl::StrAppend(&text, "\n");
  for (const auto& row : rows_) {
    absl::StrAppend(&text, "|");
    for (const std::string& cell : row) {
      absl::StrAppend(&text, " ", absl::StrReplaceAll(cell, {{"|", "\\|"}}), " |");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string FactList(const std::vector<std::pair<std::string, std::string>>& facts) {
  size_t width = 0;
  for (const auto& [name, value] : facts) {
    if (!value.empty()) width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    absl::StrAppend(&text, Pad(name, width, Table::Align::kLeft), "  ", value, "\n");
  }
  return text;
}

std::string FormatCount(double count) { return FormatDecimals(count, 0); }

std::string FormatCycles(double cycles) {
  if (std::abs(cycles) < 1000) return absl::StrCat(FormatCount(cycles), " cycles");
  return absl::StrCat(FormatMegacycles(cycles), " Mcycles");
}

std::string FormatMegacycles(double cycles) { return FormatDecimals(cycles / kMega, 3); }

std::string FormatMebibytes(double bytes) { return FormatDecimals(bytes / kMebi, 1); }

std::string FormatChange(double value, double reference) {
  if (value == reference) return "equal to";
  if (reference <= 0) return "";
  const double change = value / reference - 1;
  return absl::StrCat(FormatPercent(std::abs(change), 2), change < 0 ? " below" : " above");
}

std::string FormatPercent(double share, int decimals) {
  return absl::StrCat(FormatDecimals(100 * share, decimals), " %");
}

}  // namespace mallocmuzero::cli
