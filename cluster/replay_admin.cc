#include "cluster/replay_admin.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

// For calls whose time grows with the shard's data.
constexpr absl::Duration kLongTimeout = absl::Minutes(5);

}  // namespace

struct ReplayAdmin::Stub {
  std::unique_ptr<v1::Replay::Stub> replay;
};

ReplayAdmin::ReplayAdmin(std::string address, std::shared_ptr<const Security> security)
    : address_(std::move(address)),
      security_(std::move(security)),
      stub_(new Stub{v1::Replay::NewStub(MakeChannel(address_, *security_))}) {}

ReplayAdmin::~ReplayAdmin() = default;

absl::Status ReplayAdmin::ListIds(
    const std::function<void(absl::string_view id, bool stored)>& take) const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kLongTimeout);
  const auto reader = stub_->replay->ListIds(&context, v1::ListIdsRequest());
  v1::ListIdsResponse response;
  while (reader->Read(&response)) {
    for (const std::string& id : response.stored()) take(id, true);
    for (const std::string& id : response.evicted()) take(id, false);
  }
  return StatusOfCall(address_, FromGrpc(reader->Finish()));
}

absl::Status ReplayAdmin::SetRateLimit(const v1::RateLimit& limit) const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kTimeout);
  v1::SetRateLimitResponse response;
  return StatusOfCall(address_, FromGrpc(stub_->replay->SetRateLimit(&context, limit, &response)));
}

absl::Status ReplayAdmin::Drain(bool draining) const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kTimeout);
  v1::DrainRequest request;
  request.set_draining(draining);
  v1::DrainResponse response;
  return StatusOfCall(address_, FromGrpc(stub_->replay->Drain(&context, request, &response)));
}

absl::StatusOr<v1::CheckpointResponse> ReplayAdmin::Checkpoint() const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kLongTimeout);
  v1::CheckpointResponse response;
  const absl::Status status =
      FromGrpc(stub_->replay->Checkpoint(&context, v1::CheckpointRequest(), &response));
  if (!status.ok()) return StatusOfCall(address_, status);
  return response;
}

absl::StatusOr<v1::ReplayStats> ReplayAdmin::Stats() const {
  grpc::ClientContext context;
  PrepareCall(context, *security_, kTimeout);
  v1::ReplayStats stats;
  const absl::Status status =
      FromGrpc(stub_->replay->GetStats(&context, v1::GetStatsRequest(), &stats));
  if (!status.ok()) return StatusOfCall(address_, status);
  return stats;
}

absl::Status ReplayAdmin::Retire() const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kLongTimeout);
  v1::RetireResponse response;
  return StatusOfCall(address_,
                      FromGrpc(stub_->replay->Retire(&context, v1::RetireRequest(), &response)));
}

absl::Status ReplayAdmin::Export(
    const std::function<absl::Status(const v1::MovedItems&)>& take) const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, absl::InfiniteDuration());
  const auto reader = stub_->replay->Export(&context, v1::ExportRequest());
  v1::MovedItems part;
  absl::Status taken;
  while (taken.ok() && reader->Read(&part)) taken = take(part);
  if (!taken.ok()) context.TryCancel();
  const grpc::Status end = reader->Finish();
  return taken.ok() ? StatusOfCall(address_, FromGrpc(end)) : taken;
}

absl::StatusOr<v1::TakeOverResponse> ReplayAdmin::TakeOver(
    const v1::TakeOverRequest& request) const {
  grpc::ClientContext context;
  PrepareAdminCall(context, *security_, kLongTimeout);
  v1::TakeOverResponse response;
  const absl::Status status = FromGrpc(stub_->replay->TakeOver(&context, request, &response));
  if (!status.ok()) return StatusOfCall(address_, status);
  return response;
}

}  // namespace mallocmuzero
