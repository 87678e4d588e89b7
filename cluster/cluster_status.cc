#include "cluster/cluster_status.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/blocking_counter.h"
#include "base/size32.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// An actor is silent after this time without a report. Actors report every two seconds.
constexpr double kMostSilentSeconds = 10;

struct Call {
  grpc::ClientContext context;
  v1::GetStatusRequest request;
  v1::RoleStatus response;
  grpc::Status status;
};

bool IsWell(Health health) { return health == Health::kOk || health == Health::kWaiting; }

// Adds "NAME HEALTH (what is wrong)" for each of `role` and its peers that is not well.
void AddComplaints(const v1::RoleStatus& role, std::vector<std::string>& complaints) {
  const Health health = HealthOf(role);
  if (!IsWell(health)) {
    const std::string& why = health == Health::kDegraded  ? role.trouble()
                             : health == Health::kBlocked ? role.blocked_on()
                                                          : "";
    complaints.push_back(absl::StrCat(role.name(), " ", ToString(health),
                                      why.empty() ? "" : absl::StrCat(" (", why, ")")));
  }
  for (const v1::RoleStatus& peer : role.peers()) AddComplaints(peer, complaints);
}

// The number of actors that a learner has heard from lately.
uint32_t CountActors(const v1::RoleStatus& learner) {
  uint32_t count = 0;
  for (const v1::RoleStatus& peer : learner.peers()) {
    count += peer.role() == v1::RoleStatus::ACTOR && HealthOf(peer) != Health::kSilent ? 1 : 0;
  }
  return count;
}

double FigureOf(const v1::RoleStatus& role, const std::string& name) {
  const auto found = role.figures().find(name);
  return found == role.figures().end() ? 0 : found->second;
}

}  // namespace

struct StatusCollector::Target {
  v1::RoleStatus role;  // the fields known from the configuration
  std::unique_ptr<v1::Status::Stub> stub;
};

Health HealthOf(const v1::RoleStatus& role) {
  if (!role.error().empty()) return Health::kAway;
  if (role.silent_seconds() > kMostSilentSeconds) return Health::kSilent;
  if (role.blocked_on().empty() || role.flow_control()) {
    if (!role.trouble().empty()) return Health::kDegraded;
  }
  if (role.blocked_on().empty()) return Health::kOk;
  return role.flow_control() ? Health::kWaiting : Health::kBlocked;
}

std::string ToString(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWaiting:
      return "waiting";
    case Health::kDegraded:
      return "degraded";
    case Health::kBlocked:
      return "blocked";
    case Health::kSilent:
      return "silent";
    case Health::kAway:
      break;
  }
  return "away";
}

std::string ReasonOf(const v1::RoleStatus& role) {
  if (!role.error().empty()) return role.error();
  const Health health = HealthOf(role);
  if (health == Health::kSilent) {
    return absl::StrFormat("not heard of for %.0f s", role.silent_seconds());
  }
  return health == Health::kDegraded ? role.trouble() : role.blocked_on();
}

StatusCollector::StatusCollector(const v1::ClusterConfig& config,
                                 std::shared_ptr<const Security> security)
    : least_actors_(config.actor().expected()),
      security_(std::move(security)),
      membership_(v1::Membership::NewStub(MakeChannel(config.learner().address(), *security_))) {
  const absl::MutexLock lock(&mutex_);
  for (const v1::ReplayShard& shard : config.replay()) {
    targets_.push_back(MakeTarget(v1::RoleStatus::REPLAY, shard.name(), shard.address()));
  }
  targets_.push_back(
      MakeTarget(v1::RoleStatus::LEARNER, config.learner().name(), config.learner().address()));
}

StatusCollector::~StatusCollector() = default;

std::shared_ptr<StatusCollector::Target> StatusCollector::MakeTarget(
    v1::RoleStatus::Role role, const std::string& name, const std::string& address) const {
  auto target = std::make_shared<Target>();
  target->role.set_role(role);
  target->role.set_name(name);
  target->role.set_address(address);
  target->stub = v1::Status::NewStub(MakeChannel(address, *security_));
  return target;
}

StatusCollector::Targets StatusCollector::targets() const {
  const absl::MutexLock lock(&mutex_);
  return targets_;
}

// Replaces the shards of the targets by those of the list that have not left.
void StatusCollector::FollowShards(const v1::ShardRoster& roster) const {
  const absl::MutexLock lock(&mutex_);
  Targets targets;
  for (const v1::ShardRoster::Shard& shard : roster.shards()) {
    if (shard.state() == v1::ShardRoster::LEFT) continue;
    const auto known = std::find_if(targets_.begin(), targets_.end(), [&](const auto& target) {
      return target->role.name() == shard.name() && target->role.address() == shard.address();
    });
    targets.push_back(known != targets_.end()
                          ? *known
                          : MakeTarget(v1::RoleStatus::REPLAY, shard.name(), shard.address()));
  }
  targets.push_back(targets_.back());
  targets_ = std::move(targets);
}

v1::ClusterStatus StatusCollector::Collect(absl::Duration timeout) const {
  const Targets before = targets();
  v1::ShardRoster roster;
  v1::ClusterStatus status = CollectOnce(timeout, roster);
  if (roster.shards().empty()) return status;
  FollowShards(roster);
  return targets() == before ? status : CollectOnce(timeout, roster);
}

// Sets `roster` to the learner's list if the learner answers.
v1::ClusterStatus StatusCollector::CollectOnce(absl::Duration timeout,
                                               v1::ShardRoster& roster) const {
  const Targets targets = this->targets();
  std::vector<Call> calls(targets.size());
  absl::BlockingCounter left(Size32(targets) + 1);
  grpc::ClientContext context;
  const v1::GetShardsRequest request;
  PrepareCall(context, *security_, timeout);
  membership_->async()->GetShards(&context, &request, &roster,
                                  [&left](const grpc::Status&) { left.DecrementCount(); });
  for (size_t i = 0; i < targets.size(); ++i) {
    Call& call = calls[i];
    PrepareCall(call.context, *security_, timeout);
    targets[i]->stub->async()->GetStatus(&call.context, &call.request, &call.response,
                                         [&call, &left](grpc::Status status) {
                                           call.status = std::move(status);
                                           left.DecrementCount();
                                         });
  }
  left.Wait();
  v1::ClusterStatus cluster;
  bool healthy = true;
  uint32_t actors = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    v1::RoleStatus& role = *cluster.add_roles();
    role = targets[i]->role;
    if (calls[i].status.ok()) {
      role = std::move(calls[i].response);
      role.set_address(targets[i]->role.address());
    } else {
      role.set_error(Reason(FromGrpc(calls[i].status)));
    }
    healthy = healthy && IsWell(HealthOf(role));
    actors += CountActors(role);
    for (const v1::RoleStatus& peer : role.peers()) {
      healthy = healthy && (IsWell(HealthOf(peer)) || HealthOf(peer) == Health::kSilent);
    }
  }
  cluster.set_healthy(healthy && actors >= least_actors_);
  return cluster;
}

std::string SummaryLine(const v1::ClusterStatus& status) {
  double games_per_second = 0;
  double positions = 0;
  uint32_t actors = 0;
  std::string learner = "no learner";
  std::vector<std::string> complaints;
  for (const v1::RoleStatus& role : status.roles()) {
    AddComplaints(role, complaints);
    positions += FigureOf(role, "positions");
    if (role.role() == v1::RoleStatus::LEARNER && role.error().empty()) {
      learner = absl::StrFormat("step %.0f, %.1f updates/s", FigureOf(role, "step"),
                                FigureOf(role, "updates_per_second"));
    }
    actors += CountActors(role);
    for (const v1::RoleStatus& peer : role.peers()) {
      // A reanalyser plays no games; it searches stored ones again.
      if (peer.role() == v1::RoleStatus::ACTOR && HealthOf(peer) != Health::kSilent) {
        games_per_second += FigureOf(peer, "games_per_second");
      }
    }
  }
  return absl::StrFormat("%s, %u actors, %.1f games/s, %.0f positions stored; %s", learner, actors,
                         games_per_second, positions,
                         !complaints.empty() ? absl::StrJoin(complaints, "; ")
                         : status.healthy()  ? "all well"
                                             : "too few actors");
}

}  // namespace mallocmuzero
