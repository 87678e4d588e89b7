#include "cluster/config_mistakes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mallocmuzero {

void ConfigMistakes::Add(int line, const std::string& field, const std::string& message) {
  const std::string text = field.empty() ? message : absl::StrCat(field, ": ", message);
  // Line breaks are replaced, so that each mistake is one line whatever the file contains.
  mistakes_.push_back({std::max(0, line), absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}})});
}

absl::Status ConfigMistakes::ToStatus(const std::string& path) const {
  if (mistakes_.empty()) return absl::OkStatus();
  std::vector<Mistake> sorted = mistakes_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) { return a.line < b.line; });
  std::string text;
  for (const Mistake& mistake : sorted) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", path, ":", mistake.line + 1, ": ",
                    mistake.text);
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace mallocmuzero
