// Error messages about fields of a message that comes from outside.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_FIELD_CHECKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_FIELD_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::field_checks {

// The largest size of one tensor, access or slice of traffic, and the largest number of executions.
// With these bounds, the bytes of all accesses of an instruction fit into 64 bits.
inline constexpr int64_t kMaxBytes = int64_t{1} << 50;
inline constexpr int64_t kMaxExecutions = int64_t{1} << 53;

// An InvalidArgument error "`field`: `expected` expected, found `found`".
template <typename Found>
absl::Status Error(absl::string_view field, absl::string_view expected, const Found& found) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", expected, " expected, found ", found));
}

// The name of a member of an element of a repeated field: "field[index].member".
inline std::string Element(absl::string_view field, int64_t index, absl::string_view member) {
  return absl::StrCat(field, "[", index, "].", member);
}

// InvalidArgument, with the field in the message, unless index < size.
inline absl::Status CheckIndex(uint32_t index, int64_t size, const std::string& field) {
  if (index < size) return absl::OkStatus();
  return Error(field, absl::StrCat("an index below ", size), index);
}

// InvalidArgument, with the field in the message, unless low <= value <= high.
inline absl::Status CheckRange(int64_t value, int64_t low, int64_t high, const std::string& field) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Error(field, absl::StrCat(low, " to ", high), value);
}

}  // namespace mallocmuzero::field_checks

#endif  // MALLOCMUZERO_SIMULATOR_CORE_FIELD_CHECKS_H_
