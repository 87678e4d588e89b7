// The server's side: one listening gRPC server with what every role's server has.

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
#include "rpc/security.h"

namespace mallocmuzero {

struct RpcServerOptions {
  std::string address;  // host:port; port 0: any free one
  std::shared_ptr<const Security> security = std::make_shared<Security>();

  // Not owned; must outlive the server. Each checks its callers (Security::CheckCaller).
  std::vector<grpc::Service*> services;

  // If given, gets mallocmuzero_rpc_server_seconds, a histogram by method and code.
  prometheus::Registry* registry = nullptr;
};

// Answers health checks and reflection besides its services; drops peers that no longer answer;
// refuses messages above kMaxMessageBytes.
class RpcServer {
 public:
  // InvalidArgument, with the address, if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options);

  // Shuts down at once if Shutdown has not been called.
  ~RpcServer();

  // host:port with the port in use.
  const std::string& address() const { return address_; }

  // No new calls; those that run have so long to finish and are cancelled then. Blocks until all
  // have ended.
  void Shutdown(absl::Duration grace);

 private:
  RpcServer(std::unique_ptr<grpc::Server> server, std::string address);

  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_SERVER_H_
