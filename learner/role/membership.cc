#include "learner/role/membership.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "replay/client/membership_client.h"
#include "replay/client/shard_roster.h"
#include "rpc/answer.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kFollowTimeout = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<Membership>> Membership::Open(
    const v1::ClusterConfig& config, uint32_t rank, std::shared_ptr<const Security> security) {
  std::unique_ptr<ShardBook> book;
  if (rank == 0) {
    absl::StatusOr<std::unique_ptr<ShardBook>> opened =
        ShardBook::Open(config.learner().run_dir(), config);
    if (!opened.ok()) return opened.status();
    book = *std::move(opened);
  }
  return absl::WrapUnique(new Membership(config, std::move(security), std::move(book)));
}

Membership::Membership(const v1::ClusterConfig& config, std::shared_ptr<const Security> security,
                       std::unique_ptr<ShardBook> book)
    : address_(config.learner().address()),
      configured_(ShardAddresses(config)),
      security_(std::move(security)),
      book_(std::move(book)) {}

void Membership::Connect(std::function<absl::Status()> may_change,
                         std::function<void(const std::vector<ShardAddress>&)> changed) {
  may_change_ = std::move(may_change);
  changed_ = std::move(changed);
}

std::vector<ShardAddress> Membership::active() const {
  return book_ == nullptr ? configured_ : ActiveShards(book_->roster());
}

std::vector<std::string> Membership::notes() const {
  return book_ == nullptr ? std::vector<std::string>() : book_->notes();
}

void Membership::AddTo(v1::ActorOrders& orders, const v1::ActorReport& report) const {
  v1::ShardRoster roster = book_->roster();
  if (report.shards_fingerprint() == RosterFingerprint(roster)) return;
  *orders.mutable_shards() = std::move(roster);
}

std::string Membership::trouble() const {
  const v1::ShardRoster roster = book_->roster();
  for (const v1::ShardRoster::Shard& shard : roster.shards()) {
    if (shard.state() == v1::ShardRoster::LEAVING) {
      return absl::StrCat("shard ", shard.name(), " is leaving");
    }
  }
  return {};
}

void Membership::Follow() {
  const absl::StatusOr<v1::ShardRoster> roster =
      mallocmuzero::GetShards(address_, *security_, kFollowTimeout);
  if (roster.ok() && CheckRoster(*roster).ok()) changed_(ActiveShards(*roster));
}

grpc::ServerUnaryReactor* Membership::GetShards(grpc::CallbackServerContext* context,
                                                const v1::GetShardsRequest* /*request*/,
                                                v1::ShardRoster* response) {
  const grpc::Status status = security_->CheckCaller(*context);
  if (status.ok()) *response = book_->roster();
  return Answer(context, status);
}

grpc::ServerUnaryReactor* Membership::ChangeShards(grpc::CallbackServerContext* context,
                                                   const v1::ChangeShardsRequest* request,
                                                   v1::ShardRoster* response) {
  grpc::Status status = security_->CheckAdministrator(*context);
  if (status.ok()) status = ToGrpc(may_change_());
  if (!status.ok()) return Answer(context, status);
  absl::StatusOr<v1::ShardRoster> roster = book_->Change(*request);
  if (!roster.ok()) return Answer(context, ToGrpc(roster.status()));
  {
    const absl::MutexLock lock(&telling_);
    // The newest list: another call may have changed it since.
    changed_(active());
  }
  *response = *std::move(roster);
  return Answer(context, grpc::Status::OK);
}

}  // namespace mallocmuzero
