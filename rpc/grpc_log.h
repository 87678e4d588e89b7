// What gRPC's own threads have to say, such as of a failed handshake.

#ifndef MALLOCMUZERO_RPC_GRPC_LOG_H_
#define MALLOCMUZERO_RPC_GRPC_LOG_H_

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// From now on gRPC's messages go to `log`, which is called on any thread, instead of to stderr in a
// form of gRPC's own. Left out is what RpcServer::Start returns in its own words. GRPC_VERBOSITY in
// the environment says which messages there are; by default errors.
void PassOnGrpcLog(void (*log)(absl::string_view text));

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_GRPC_LOG_H_
