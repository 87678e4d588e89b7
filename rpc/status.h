// Between absl::Status, which the program speaks, and grpc::Status, which the wire speaks. The
// codes are the same numbers.

#ifndef MALLOCMUZERO_RPC_STATUS_H_
#define MALLOCMUZERO_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace mallocmuzero {

absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

// Why a call failed, in a few words for people: gRPC puts a chain of causes into its messages, of
// which the last one tells. With the code in front if that says more than that nobody answered.
std::string Reason(const absl::Status& status);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_STATUS_H_
