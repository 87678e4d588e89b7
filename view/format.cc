#include "view/format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mallocmuzero::view {
namespace {

constexpr double kMega = 1e6;
constexpr double kLeastMegacycles = 1e5;  // fewer cycles would have less than three digits
constexpr double kKibi = 1024.0;
constexpr double kMebi = 1024.0 * kKibi;
constexpr double kGibi = 1024.0 * kMebi;
constexpr double kMinute = 60;  // seconds
constexpr double kHour = 60 * kMinute;

// Puts a comma before every third digit. `digits` may start with a sign and may have a decimal
// point.
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
  std::string digits = absl::StrFormat("%.*f", decimals, value);
  // A number that is rounded to zero has no sign.
  if (digits.starts_with('-') && digits.find_first_of("123456789") == std::string::npos) {
    digits.erase(0, 1);
  }
  return WithThousandsSeparators(digits);
}

}  // namespace

std::string FormatCount(double count) { return FormatDecimals(count, 0); }

std::string FormatCounted(double count, const std::string& noun, const std::string& plural) {
  const std::string many = plural.empty() ? noun + "s" : plural;
  return absl::StrCat(FormatCount(count), " ", count == 1 ? noun : many);
}

std::string FormatCycles(double cycles) {
  if (std::abs(cycles) >= kLeastMegacycles) {
    return absl::StrCat(FormatMegacycles(cycles), " Mcycles");
  }
  const std::string count = FormatCount(cycles);
  return absl::StrCat(count, count == "1" ? " cycle" : " cycles");
}

std::string FormatMegacycles(double cycles) { return FormatDecimals(cycles / kMega, 3); }

std::string FormatBytes(double bytes) {
  if (bytes < kKibi) return absl::StrCat(FormatCount(bytes), " B");
  if (bytes < kMebi) return absl::StrCat(FormatDecimals(bytes / kKibi, 1), " KiB");
  if (bytes < kGibi) return absl::StrCat(FormatDecimals(bytes / kMebi, 1), " MiB");
  return absl::StrCat(FormatDecimals(bytes / kGibi, 1), " GiB");
}

std::string FormatMebibytes(double bytes) { return FormatDecimals(bytes / kMebi, 1); }

std::string FormatChange(double value, double reference) {
  if (value == reference) return "equal to";
  if (reference <= 0) return "";
  const double change = value / reference - 1;
  return absl::StrCat(FormatPercent(std::abs(change), 2), change < 0 ? " below" : " above");
}

std::string FormatTime(double seconds) {
  if (seconds < kMinute) return absl::StrCat(FormatDecimals(seconds, 1), " seconds");
  if (seconds < 2 * kHour) return absl::StrCat(FormatDecimals(seconds / kMinute, 1), " minutes");
  return absl::StrCat(FormatDecimals(seconds / kHour, 1), " hours");
}

std::string FormatPercent(double share, int decimals) {
  return absl::StrCat(FormatDecimals(100 * share, decimals), " %");
}

}  // namespace mallocmuzero::view
