// Errors that say where they are.

#ifndef MALLOCMUZERO_BASE_STATUS_AT_H_
#define MALLOCMUZERO_BASE_STATUS_AT_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Puts "PLACE: " before the message of an error and keeps its code. OK stays OK. `place` is what
// the user gave: a path, a flag, a URL, the name of a program.
inline absl::Status StatusAt(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(place, ": ", status.message())};
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_STATUS_AT_H_
