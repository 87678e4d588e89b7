#include "cli/duration_flag.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace mallocmuzero::cli {

absl::StatusOr<absl::Duration> ParseDuration(const std::string& flag, const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration() &&
      duration < absl::InfiniteDuration()) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "': a time above zero such as 500ms, 60s or 5m expected"));
}

absl::StatusOr<absl::Duration> ParseDurationOrZero(const std::string& flag,
                                                   const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= absl::ZeroDuration() &&
      duration < absl::InfiniteDuration()) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "': 0 or a time such as 500ms, 60s or 5m expected"));
}

absl::Status CheckSeconds(double seconds, double most) {
  // Written so that "not a number" is refused too.
  if (seconds > 0 && seconds <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--seconds is ", seconds, ", must be above 0 and at most ", most));
}

}  // namespace mallocmuzero::cli
