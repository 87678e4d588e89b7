// Conversions between absl::Status, which the program uses, and grpc::Status, which calls use. Both
// have the same numeric codes.

#ifndef MALLOCMUZERO_RPC_STATUS_H_
#define MALLOCMUZERO_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

// Why a call failed, in at most 160 bytes for people. gRPC's messages hold a chain of causes; this
// returns the last one. The code comes first, except for UNAVAILABLE, UNKNOWN and
// DEADLINE_EXCEEDED, where it would add nothing.
std::string Reason(const absl::Status& status);

// The status of a call to `place`, such as an address, which comes before the message of an error.
// If the server does not answer, the Reason takes the place of the message.
absl::Status StatusOfCall(absl::string_view place, const absl::Status& status);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_STATUS_H_
