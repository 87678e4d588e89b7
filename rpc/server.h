// A gRPC server with what the server of every role needs.

#ifndef MALLOCMUZERO_RPC_SERVER_H_
#define MALLOCMUZERO_RPC_SERVER_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/protocol.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct RpcServerOptions {
  std::string address;  // host:port to listen on; port 0 takes any free port
  std::shared_ptr<const Security> security = std::make_shared<Security>();

  // Not owned; must outlive the server. Each service must check its callers by
  // Security::CheckCaller; the server does not.
  std::vector<grpc::Service*> services;

  // Requests that are larger are refused before they are parsed.
  int most_request_bytes = kMaxMessageBytes;

  // If not null, gets the histogram mallocmuzero_rpc_server_seconds by method and code. Not owned;
  // must outlive the server.
  prometheus::Registry* registry = nullptr;
};

// Answers health checks and reflection besides its services, without a token. Closes connections
// whose peer no longer answers pings. Refuses messages above most_request_bytes, and those that
// gRPC has compressed. Bounds the memory of its connections (1 GiB), and the streams (1,000) and
// the metadata (8 KiB a call) of each.
class RpcServer {
 public:
  // Starts to listen. InvalidArgument names the address if the server cannot or may not listen on
  // it.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options);

  // Calls Shutdown without grace.
  ~RpcServer();

  // host:port with the port that the server listens on.
  const std::string& address() const { return address_; }

  // Refuses new calls, gives running ones up to `grace` to finish and then cancels them. Blocks
  // until all have ended.
  void Shutdown(absl::Duration grace);

 private:
  RpcServer(std::unique_ptr<grpc::Server> server, std::string address);

  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_SERVER_H_
