// A learner's part in the changes of the cluster's list of shards.

#ifndef MALLOCMUZERO_LEARNER_ROLE_MEMBERSHIP_H_
#define MALLOCMUZERO_LEARNER_ROLE_MEMBERSHIP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "learner/role/shard_book.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/shards.grpc.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Process 0 keeps the list and serves it; the other processes of the learner follow it.
// Thread-safe.
class Membership final : public v1::Membership::CallbackService {
 public:
  // Takes the list of the run, or in processes other than 0 that of the configuration, until Follow
  // gets another one. Returns the errors of ShardBook::Open.
  static absl::StatusOr<std::unique_ptr<Membership>> Open(const v1::ClusterConfig& config,
                                                          uint32_t rank,
                                                          std::shared_ptr<const Security> security);

  // Sets a function that says whether the list may be changed now, and one that gets the active
  // shards of each new list. `changed` may block; its calls come one after the other, and the last
  // one has the newest list. Call before the server starts and before Follow.
  void Connect(std::function<absl::Status()> may_change,
               std::function<void(const std::vector<ShardAddress>&)> changed);

  std::vector<ShardAddress> active() const;
  std::vector<std::string> notes() const;  // of ShardBook

  // Adds the list to the orders of an actor that has another one. Process 0 only.
  void AddTo(v1::ActorOrders& orders, const v1::ActorReport& report) const;

  // "shard NAME is leaving", while its games are being moved; else empty. Process 0 only.
  std::string trouble() const;

  // Asks process 0 for its list, for at most a second. Other processes call this now and then. The
  // list stays as it is while process 0 does not answer.
  void Follow();

  // The calls of the service; see shards.proto.
  grpc::ServerUnaryReactor* GetShards(grpc::CallbackServerContext* context,
                                      const v1::GetShardsRequest* request,
                                      v1::ShardRoster* response) override;
  grpc::ServerUnaryReactor* ChangeShards(grpc::CallbackServerContext* context,
                                         const v1::ChangeShardsRequest* request,
                                         v1::ShardRoster* response) override;

 private:
  Membership(const v1::ClusterConfig& config, std::shared_ptr<const Security> security,
             std::unique_ptr<ShardBook> book);

  const std::string address_;  // of process 0
  const std::vector<ShardAddress> configured_;
  const std::shared_ptr<const Security> security_;
  const std::unique_ptr<ShardBook> book_;  // null in other processes
  std::function<absl::Status()> may_change_;
  std::function<void(const std::vector<ShardAddress>&)> changed_;
  absl::Mutex telling_;  // held while changed_ runs
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_MEMBERSHIP_H_
