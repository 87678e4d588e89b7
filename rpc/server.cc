#include "rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "rpc/call_timer.h"
#include "rpc/host_port.h"
#include "rpc/protocol.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// The memory of all connections for messages on their way, and the bounds of one connection.
constexpr size_t kMostBufferBytes = size_t{1} << 30;
constexpr int kMostStreams = 1000;
constexpr int kMostMetadataBytes = 8 << 10;

// Adds gRPC's services for health checks and reflection to every server of the process. Only the
// first call has an effect.
void EnableHealthAndReflection() {
  static const bool done = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)done;
}

void SetLimits(int most_request_bytes, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(most_request_bytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // gRPC would decompress a message before it looks at its size, and before a service checks the
  // caller. Clients of ours compress no messages. The second setting gives others a clear error.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, /*enabled=*/false);
  }
  // These bounds hold before any message is decoded. A channel of ours has a connection of its own
  // and a few streams.
  grpc::ResourceQuota quota("server");
  quota.Resize(kMostBufferBytes);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Clients ping every 10 s (MakeChannel). Without these two settings gRPC would take that for
  // abuse and close the connection.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // With SO_REUSEPORT a second server could start on the same port and would take some of the
  // connections, so it is turned off.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options) {
  if (absl::Status status = options.security->CheckListenAddress(options.address); !status.ok()) {
    return status;
  }
  EnableHealthAndReflection();
  grpc::ServerBuilder builder;
  SetLimits(options.most_request_bytes, builder);
  int port = 0;
  builder.AddListeningPort(options.address, options.security->ServerCredentials(), &port);
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  if (options.registry != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(MakeCallTimer(*options.registry));
    builder.experimental().SetInterceptorCreators(std::move(creators));
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot listen on '", options.address,
        "': the port is taken, the host is not this machine's, or the certificates are not valid"));
  }
  // The address can be parsed: CheckListenAddress has accepted it.
  HostPort address = *ParseHostPort(options.address, /*least_port=*/0);
  address.port = port;
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), ToString(address)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

void RpcServer::Shutdown(absl::Duration grace) {
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(grace));
  server_->Wait();
}

}  // namespace mallocmuzero
