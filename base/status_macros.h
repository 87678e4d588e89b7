// Macros that return early with an error.

#ifndef MALLOCMUZERO_BASE_STATUS_MACROS_H_
#define MALLOCMUZERO_BASE_STATUS_MACROS_H_

#include "absl/status/status.h"

// Returns the status of `expression` from the enclosing function unless it is OK.
#define MMZ_RETURN_IF_ERROR(expression)                       \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#endif  // MALLOCMUZERO_BASE_STATUS_MACROS_H_
