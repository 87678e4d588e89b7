#include "cluster/config_mistakes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mallocmuzero {
namespace {

// Each mistake is one line whatever the configuration contains.
std::string InOneLine(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}});
}

}  // namespace

void ConfigMistakes::Add(int line, const std::string& field, const std::string& message) {
  const std::string text = field.empty() ? message : absl::StrCat(field, ": ", message);
  mistakes_.push_back({std::max(0, line), InOneLine(text)});
}

void ConfigMistakes::AddForOverride(const std::string& source, const std::string& message) {
  mistakes_.push_back({kOfOverride, InOneLine(absl::StrCat(source, ": ", message))});
}

absl::Status ConfigMistakes::ToStatus(const std::string& path) const {
  if (mistakes_.empty()) return absl::OkStatus();
  std::vector<Mistake> sorted = mistakes_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) { return a.line < b.line; });
  std::string text;
  for (const Mistake& mistake : sorted) {
    absl::StrAppend(&text, text.empty() ? "" : "\n");
    if (mistake.line != kOfOverride) absl::StrAppend(&text, path, ":", mistake.line + 1, ": ");
    absl::StrAppend(&text, mistake.text);
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace mallocmuzero
