#include "rpc/status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace mallocmuzero {

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace mallocmuzero
