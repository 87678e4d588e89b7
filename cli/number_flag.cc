#include "cli/number_flag.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::cli {
namespace {

std::string Expected(absl::string_view what, absl::string_view text) {
  return absl::StrCat("expected ", what, ", found '", text, "'");
}

// `accepts` says whether a finite number is one of `what`.
CLI::Validator Number(std::string what, std::function<bool(double)> accepts) {
  return CLI::Validator(
      [what = std::move(what),
       accepts = std::move(accepts)](const std::string& text) -> std::string {
        double number = 0;
        const bool is_number = absl::SimpleAtod(text, &number) && std::isfinite(number);
        return is_number && accepts(number) ? "" : Expected(what, text);
      },
      /*validator_desc=*/"");
}

}  // namespace

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        uint64_t number = 0;
        // The text must be the canonical form of the number: CLI11 reads 010 as 8.
        const bool is_number = absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text;
        if (is_number && least <= number && number <= most) return "";
        return Expected(absl::StrCat("a whole number from ", least, " to ", most), text);
      },
      /*validator_desc=*/"");
}

CLI::Validator ZeroOrMore() {
  return Number("a number of 0 or more", [](double number) { return number >= 0; });
}

CLI::Validator AboveZero() {
  return Number("a number above 0", [](double number) { return number > 0; });
}

CLI::Validator NumberBetween(double least, double most) {
  return Number(absl::StrCat("a number from ", least, " to ", most),
                [=](double number) { return least <= number && number <= most; });
}

}  // namespace mallocmuzero::cli
