// Flags whose value is a time.

#ifndef MALLOCMUZERO_CLI_DURATION_FLAG_H_
#define MALLOCMUZERO_CLI_DURATION_FLAG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace mallocmuzero::cli {

// A finite time above zero, such as "500ms", "60s" or "5m". InvalidArgument, with the flag's name,
// for anything else.
absl::StatusOr<absl::Duration> ParseDuration(const std::string& flag, const std::string& text);

// The same, or "0".
absl::StatusOr<absl::Duration> ParseDurationOrZero(const std::string& flag,
                                                   const std::string& text);

// InvalidArgument unless 0 < seconds <= most, a finite number: for --seconds.
absl::Status CheckSeconds(double seconds, double most);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_DURATION_FLAG_H_
