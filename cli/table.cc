#include "cli/table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace mallocmuzero::cli {
namespace {

// The number of characters in UTF-8: of bytes that continue none.
size_t Width(absl::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), ContinuesUtf8Character);
}

std::string Pad(const std::string& cell, size_t width, Table::Align align) {
  const std::string blanks(width - std::min(width, Width(cell)), ' ');
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

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  // Names come from users' code, and a line break in one would end the row.
  for (std::string& cell : cells) cell = WithoutControls(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string Table::ToText() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = Width(columns_[i].header);
    for (const auto& row : rows_) width = std::max(width, Width(row[i]));
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
    if (!value.empty()) width = std::max(width, Width(name));
  }
  std::string text;
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    absl::StrAppend(&text, Pad(name, width, Table::Align::kLeft), "  ", value, "\n");
  }
  return text;
}

}  // namespace mallocmuzero::cli
