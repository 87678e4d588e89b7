#include "replay/client/membership_client.h"

#include <grpcpp/client_context.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/shards.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {

absl::StatusOr<v1::ShardRoster> GetShards(const std::string& address, const Security& security,
                                          absl::Duration timeout) {
  const auto stub = v1::Membership::NewStub(MakeChannel(address, security));
  grpc::ClientContext context;
  PrepareCall(context, security, timeout);
  v1::ShardRoster roster;
  absl::Status status = FromGrpc(stub->GetShards(&context, v1::GetShardsRequest(), &roster));
  if (!status.ok()) return status;
  return roster;
}

absl::StatusOr<v1::ShardRoster> ChangeShards(const std::string& address, const Security& security,
                                             const v1::ChangeShardsRequest& request,
                                             absl::Duration timeout) {
  const auto stub = v1::Membership::NewStub(MakeChannel(address, security));
  grpc::ClientContext context;
  PrepareAdminCall(context, security, timeout);
  v1::ShardRoster roster;
  absl::Status status = FromGrpc(stub->ChangeShards(&context, request, &roster));
  if (!status.ok()) return status;
  return roster;
}

}  // namespace mallocmuzero
