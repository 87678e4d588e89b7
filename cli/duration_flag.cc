#include "cli/duration_flag.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mallocmuzero::cli {

namespace {

// A finite time above zero, or zero if that is allowed. Otherwise InvalidArgument says what is
// `expected`.
absl::StatusOr<absl::Duration> Parse(const std::string& flag, const std::string& text,
                                     bool is_zero_allowed, absl::string_view expected) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration < absl::InfiniteDuration() &&
      (duration > absl::ZeroDuration() || (is_zero_allowed && duration == absl::ZeroDuration()))) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "': ", expected, " such as 500ms, 60s or 5m expected"));
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(const std::string& flag, const std::string& text) {
  return Parse(flag, text, /*is_zero_allowed=*/false, "a time above zero");
}

absl::StatusOr<absl::Duration> ParseDurationOrZero(const std::string& flag,
                                                   const std::string& text) {
  return Parse(flag, text, /*is_zero_allowed=*/true, "0 or a time");
}

absl::Status CheckSeconds(double seconds, double most) {
  // Written so that "not a number" is refused too.
  if (seconds > 0 && seconds <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--seconds is ", seconds, ", must be above 0 and at most ", most));
}

}  // namespace mallocmuzero::cli
