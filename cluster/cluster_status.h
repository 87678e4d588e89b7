// Collects the status of all roles of a cluster.

#ifndef MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_
#define MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/shards.grpc.pb.h"
#include "mallocmuzero/v1/status.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

// The state of a role, for operators.
enum class Health : uint8_t {
  kOk,
  kWaiting,   // waits for the rate limiter or the first games, which is no fault
  kDegraded,  // works, but cannot reach another role
  kBlocked,   // cannot go on without another role or room on its disk
  kSilent,    // an actor that has not reported to its learner for 10 s
  kAway,      // does not answer
};

// Derives the state of a role from its status.
Health HealthOf(const v1::RoleStatus& role);

// The name of the state in lower case, such as "ok".
std::string ToString(Health health);

// Why the role is not in the state kOk; empty if it is.
std::string ReasonOf(const v1::RoleStatus& role);

// Asks roles for their status over connections that it keeps. Thread-safe.
class StatusCollector {
 public:
  // Will ask the learner of `config` and all shards that the learner lists, or those of `config`
  // while the learner does not answer. Does not connect yet.
  StatusCollector(const v1::ClusterConfig& config, std::shared_ptr<const Security> security);
  ~StatusCollector();
  StatusCollector(const StatusCollector&) = delete;
  StatusCollector& operator=(const StatusCollector&) = delete;

  // Asks all roles at once and blocks up to `timeout`, or twice as long if the learner has another
  // list of shards than before. The result lists the shards and then the learner; a role that did
  // not answer has `error` set. The cluster is healthy if every role answers, all are well (kOk or
  // kWaiting), and at least actor.expected actors report. Silent actors neither count nor make the
  // cluster unhealthy, since an actor may have been restarted under another name.
  v1::ClusterStatus Collect(absl::Duration timeout) const;

 private:
  struct Target;
  using Targets = std::vector<std::shared_ptr<Target>>;

  std::shared_ptr<Target> MakeTarget(v1::RoleStatus::Role role, const std::string& name,
                                     const std::string& address) const;
  Targets targets() const;
  void FollowShards(const v1::ShardRoster& roster) const;
  v1::ClusterStatus CollectOnce(absl::Duration timeout, v1::ShardRoster& roster) const;

  const uint32_t least_actors_;
  const std::shared_ptr<const Security> security_;
  const std::unique_ptr<v1::Membership::Stub> membership_;
  mutable absl::Mutex mutex_;
  mutable Targets targets_ ABSL_GUARDED_BY(mutex_);  // shards, then the learner
};

// Summarizes a status in one line for a log: the learner's step, rates, counts, and the roles that
// are not well.
std::string SummaryLine(const v1::ClusterStatus& status);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_
