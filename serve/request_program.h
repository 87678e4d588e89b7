// Makes the program of a request, within the server's limits.

#ifndef MALLOCMUZERO_SERVE_REQUEST_PROGRAM_H_
#define MALLOCMUZERO_SERVE_REQUEST_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/serve.pb.h"

namespace mallocmuzero {

struct RequestLimits {
  uint64_t max_program_bytes = 0;
  double max_budget_seconds = 0;
};

// Checks the size of a whole request before it becomes a message: fields that this version does not
// know have no bound of their own. InvalidArgument names the limit.
absl::Status CheckRequestBytes(uint64_t bytes, const RequestLimits& limits);

// Checks the fields and the size without reading the program. InvalidArgument names the field or
// the limit.
absl::Status CheckRequest(const v1::FindMappingRequest& request, const RequestLimits& limits);

// Reads the program, or imports it from HLO. Takes seconds for large modules. InvalidArgument if
// the bytes are no program, cannot be imported or played, or decompress to more than the limit. A
// message of one line names the field. Cancelled if `stop` is true before a module is read or
// analysed.
absl::StatusOr<std::unique_ptr<PlayedProgram>> MakeRequestProgram(
    const v1::FindMappingRequest& request, const RequestLimits& limits,
    const std::function<bool()>& stop);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_REQUEST_PROGRAM_H_
