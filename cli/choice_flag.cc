#include "cli/choice_flag.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mallocmuzero::cli {

void TakeOneOf(CLI::Option& option, const std::vector<std::string>& words) {
  option.type_name(absl::StrJoin(words, "|"));
  option.check(CLI::Validator(
      [words](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        return absl::StrCat("expected one of ", absl::StrJoin(words, ", "), ", found '", text, "'");
      },
      /*validator_desc=*/""));
}

}  // namespace mallocmuzero::cli
