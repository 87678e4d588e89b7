#include "rpc/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "rpc/host_port.h"
#include "rpc/protocol.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// The variable that names a proxy for gRPC. Without it gRPC takes http_proxy and https_proxy, which
// are for downloads: such a proxy does not reach the machines of a cluster, and would get the
// token.
constexpr char kProxyVariable[] = "grpc_proxy";

bool MayUseProxy(const std::string& address) {
  const std::optional<HostPort> parsed = ParseHostPort(address);
  if (parsed.has_value() && IsLoopback(*parsed)) return false;
  const char* proxy = std::getenv(kProxyVariable);
  return proxy != nullptr && *proxy != '\0';
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const Security& security) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  // A stream that waits for the rate limiter may move no data for hours. Pings without data find a
  // peer that dies meanwhile.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // This is also the least time that an attempt to connect may take. A server that a thousand
  // clients call at once does not answer within 100 ms, and giving up then would only add load.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  // A peer that has started again elsewhere, as in another pod, has the same name and another
  // address. By default a name is looked up at most every 30 s.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 5'000);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  if (!MayUseProxy(address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, security.ChannelCredentials(), arguments);
}

void PrepareCall(grpc::ClientContext& context, const Security& security, absl::Duration timeout) {
  context.AddMetadata(kProtocolKey, absl::StrCat(kProtocolVersion));
  const std::string token = security.token();
  if (!token.empty()) context.AddMetadata(kTokenKey, absl::StrCat(kTokenPrefix, token));
  if (timeout != absl::InfiniteDuration()) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(timeout));
  }
}

void PrepareAdminCall(grpc::ClientContext& context, const Security& security,
                      absl::Duration timeout) {
  PrepareCall(context, security, timeout);
  const std::string token = security.admin_token();
  if (!token.empty()) context.AddMetadata(kAdminKey, absl::StrCat(kTokenPrefix, token));
}

}  // namespace mallocmuzero
