// The demands of fuzzers on the code that they run.

#ifndef MALLOCMUZERO_TESTS_FUZZ_REQUIRE_H_
#define MALLOCMUZERO_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Ends the fuzzer, with the place of the call and `what`, unless the condition holds.
inline void Require(bool condition, absl::string_view what = {},
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: requirement not met: %s\n", file, line, std::string(what).c_str());
  std::abort();
}

// The status must be OK.
inline void RequireOk(const absl::Status& status, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  Require(status.ok(), status.message(), file, line);
}

// The value, which must be there.
template <typename T>
T Must(absl::StatusOr<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  RequireOk(value.status(), file, line);
  return *std::move(value);
}

// The status must be an error that says something, in one line.
inline void CheckError(const absl::Status& status, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  const bool is_one_line = !status.message().empty() && !absl::StrContains(status.message(), '\n');
  Require(!status.ok() && is_one_line, status.message(), file, line);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TESTS_FUZZ_REQUIRE_H_
