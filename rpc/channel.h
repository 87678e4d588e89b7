// The client's side of a call.

#ifndef MALLOCMUZERO_RPC_CHANNEL_H_
#define MALLOCMUZERO_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "rpc/security.h"

namespace mallocmuzero {

// A connection of its own to host:port, made when first used and made again when lost. Keep-alive
// finds a dead peer within 15 s, so that a stream ends instead of hanging.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const Security& security);

// Sets what every call needs: protocol version, token, deadline. A stream that lives as long as its
// channel has an infinite one.
void PrepareCall(grpc::ClientContext& context, const Security& security, absl::Duration timeout);

// Likewise for a call of administration: with the token of administrators, if there is one.
void PrepareAdminCall(grpc::ClientContext& context, const Security& security,
                      absl::Duration timeout);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_CHANNEL_H_
