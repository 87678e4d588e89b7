// Checks of settings.

#ifndef MALLOCMUZERO_LEARNER_CHECK_FIELD_H_
#define MALLOCMUZERO_LEARNER_CHECK_FIELD_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// InvalidArgument "FIELD: EXPECTED expected" unless `ok`.
inline absl::Status CheckField(bool ok, absl::string_view field, absl::string_view expected) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", expected, " expected"));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_CHECK_FIELD_H_
