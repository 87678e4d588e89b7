// The client's side of gRPC calls: channels and the settings of a call.

#ifndef MALLOCMUZERO_RPC_CHANNEL_H_
#define MALLOCMUZERO_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Makes a channel to `address` (host:port) with a connection that it shares with no other channel.
// It connects when it is first used and again after the connection is lost. Keep-alive finds a dead
// peer within 15 s, so that a stream ends instead of hanging. It uses no proxy, unless the variable
// grpc_proxy names one and the address is not loopback. Does not block.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const Security& security);

// Sets what every call needs: protocol version, token and deadline. The deadline is `timeout` from
// the time of this call; pass absl::InfiniteDuration() for a stream that stays open.
void PrepareCall(grpc::ClientContext& context, const Security& security, absl::Duration timeout);

// Sets the same for a call of administration, and the administrators' token if there is one.
void PrepareAdminCall(grpc::ClientContext& context, const Security& security,
                      absl::Duration timeout);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_CHANNEL_H_
