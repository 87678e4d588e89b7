#include "view/ticks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "base/rounding.h"
#include "view/format.h"

namespace mallocmuzero::view {
namespace {

// A range that is a smaller share of its numbers than this is a rounding error.
constexpr double kLeastRange = 1e-9;

}  // namespace

double NiceStep(double range, int parts) {
  const double least = range / parts;
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const double magnitude = std::pow(10, std::floor(std::log10(least)));
  if (!(magnitude > 0)) return 1;  // the range is as good as none
  for (const double factor : {1, 2, 5}) {
    if (factor * magnitude >= least) return factor * magnitude;
  }
  return 10 * magnitude;
}

Scale NiceScale(double low, double high, int parts) {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low <= kLeastRange * largest) {
    const double margin = largest > 0 ? largest / 10 : 1;
    low -= margin;
    high += margin;
  }
  // Tolerance, so that a number which equals a tick up to rounding does not add another tick.
  constexpr double kHair = 1e-6;
  Scale scale;
  scale.step = NiceStep(high - low, parts);
  scale.low = scale.step * std::floor(low / scale.step + kHair);
  scale.high = scale.step * std::ceil(high / scale.step - kHair);
  return scale;
}

std::string TickText(double value, double step) {
  constexpr double kMostDigits = 1e7;
  constexpr double kFinestDecimals = 1e-5;
  // Sums of steps may give a rounding error in place of zero.
  if (std::abs(value) < step / 2) value = 0;
  if (std::abs(value) >= kMostDigits || step < kFinestDecimals) {
    return absl::StrFormat("%.6g", value);
  }
  if (step >= 1) return FormatCount(value);
  const int decimals = RoundToZero(std::ceil(-std::log10(step) - 1e-9));
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace mallocmuzero::view
