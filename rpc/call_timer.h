// How long a server's calls take.

#ifndef MALLOCMUZERO_RPC_CALL_TIMER_H_
#define MALLOCMUZERO_RPC_CALL_TIMER_H_

#include <grpcpp/support/server_interceptor.h>
#include <prometheus/registry.h>

#include <memory>

namespace mallocmuzero {

// Counts every call of this project's services in the histogram mallocmuzero_rpc_server_seconds
// {method, code}, from its metadata's arrival until its status is sent. `registry` must outlive the
// server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallTimer(
    prometheus::Registry& registry);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_CALL_TIMER_H_
