// The messages that gRPC's own threads log, such as failed TLS handshakes.

#ifndef MALLOCMUZERO_RPC_GRPC_LOG_H_
#define MALLOCMUZERO_RPC_GRPC_LOG_H_

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Sends gRPC's log messages of this process to `log` instead of stderr. `log` is called from any
// thread. Messages about addresses that cannot be listened on are dropped, because RpcServer::Start
// returns that error. The environment variable GRPC_VERBOSITY selects which messages gRPC logs; by
// default only errors. At most 20 errors a minute are passed on, and later the number of the
// others. Each refused connection is an error, and hundreds of clients with an expired certificate
// try again every few seconds.
void PassOnGrpcLog(void (*log)(absl::string_view text));

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_GRPC_LOG_H_
