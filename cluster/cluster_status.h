// How every role of a cluster fares.

#ifndef MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_
#define MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/status.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

enum class Health : uint8_t {
  kOk,
  kWaiting,   // for the rate limiter or the first games: flow control at work
  kDegraded,  // it works, but lacks another role
  kBlocked,   // it needs another role, or room on its disk
  kSilent,    // an actor that its learner has not heard of for 10 s
  kAway,      // it does not answer
};

Health HealthOf(const v1::RoleStatus& role);

// In lower case.
std::string ToString(Health health);

// Asks roles for their status. Keeps its connections. Thread-safe.
class StatusCollector {
 public:
  // All shards of `config` and its learner.
  StatusCollector(const v1::ClusterConfig& config, std::shared_ptr<const Security> security);
  ~StatusCollector();
  StatusCollector(const StatusCollector&) = delete;
  StatusCollector& operator=(const StatusCollector&) = delete;

  // Asks all at once and waits up to `timeout`. Roles in the order of the configuration, shards
  // first; one that does not answer has `error`. Healthy: all answer, none is blocked, and there
  // are at least actor.count actors. One that is silent is no longer one of them: it may have been
  // started anew under another name.
  v1::ClusterStatus Collect(absl::Duration timeout) const;

 private:
  struct Target;

  const uint32_t least_actors_;
  const std::shared_ptr<const Security> security_;
  std::vector<Target> targets_;
};

// One line for a log: roles that are well, the learner's step, rates, what is blocked.
std::string SummaryLine(const v1::ClusterStatus& status);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CLUSTER_STATUS_H_
