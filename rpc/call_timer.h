// Measures how long a server's calls take.

#ifndef MALLOCMUZERO_RPC_CALL_TIMER_H_
#define MALLOCMUZERO_RPC_CALL_TIMER_H_

#include <grpcpp/support/server_interceptor.h>
#include <prometheus/registry.h>

#include <memory>

namespace mallocmuzero {

// Adds the duration of every call to the histogram mallocmuzero_rpc_server_seconds{method, code}:
// the time from the arrival of the call's metadata until its status is sent. Methods that are not
// this project's share the label "other". `registry` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallTimer(
    prometheus::Registry& registry);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_CALL_TIMER_H_
