// Checks of settings.

#ifndef MALLOCMUZERO_BASE_CHECK_FIELD_H_
#define MALLOCMUZERO_BASE_CHECK_FIELD_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero {

// InvalidArgument "FIELD: EXPECTED expected" unless `ok`.
inline absl::Status CheckField(bool ok, absl::string_view field, absl::string_view expected) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", expected, " expected"));
}

// Bounds of a numeric field of a message. Both bounds are allowed values.
struct FieldRange {
  const char* field;
  double least;
  double most;
};

// "NUMBER given, LEAST to MOST expected", or an empty string if the field is in its range. The
// field must be singular and must not be a signed integer. NaN is in no range.
std::string WrongRange(const google::protobuf::Message& message, const FieldRange& range);

// A field with a wrong value.
struct WrongField {
  std::string field;    // its path in the message that was checked, such as "options.batch_size"
  std::string message;  // what is wrong and what would be right
};

// The fields of `ranges` that are out of their ranges.
std::vector<WrongField> OutOfRange(const google::protobuf::Message& message,
                                   absl::Span<const FieldRange> ranges);

// InvalidArgument "PREFIXFIELD: MESSAGE" for the first of `wrong`; OK if there is none.
absl::Status FirstWrong(absl::Span<const WrongField> wrong, absl::string_view prefix);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_CHECK_FIELD_H_
