// The answer of a unary call that needs no wait.

#ifndef MALLOCMUZERO_RPC_ANSWER_H_
#define MALLOCMUZERO_RPC_ANSWER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

namespace mallocmuzero {

// Finishes the call with `status` by gRPC's default reactor, which a method of a callback service
// returns. The response must be filled in before.
inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                        const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_ANSWER_H_
