// A small cluster for tests: shard, learner and actors on loopback, part by part.

#ifndef MALLOCMUZERO_LEARNER_ROLE_TESTING_SMALL_CLUSTER_H_
#define MALLOCMUZERO_LEARNER_ROLE_TESTING_SMALL_CLUSTER_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "env/program_set.h"
#include "gtest/gtest.h"
#include "learner/role/learner_role.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/service/replay_shard.h"
#include "rpc/security.h"

namespace mallocmuzero::testing {

// Makes a folder with two small programs and a configuration for them. No part runs yet.
class SmallCluster : public ::testing::Test {
 protected:
  SmallCluster();

  void StartShard();
  void StartLearner();
  std::unique_ptr<ActorRole> StartActor(uint32_t index, bool reanalyse = false);

  // The status that the learner answers.
  v1::RoleStatus LearnerStatus() const;

  // Waits for that number of further updates.
  bool Learns(uint64_t updates) const;

  const std::string folder_;
  const ProgramSet programs_;
  const std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  prometheus::Registry registry_;
  v1::ClusterConfig config_;
  std::unique_ptr<ReplayShard> shard_;
  std::unique_ptr<LearnerRole> learner_;

 private:
  void Configure();
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_LEARNER_ROLE_TESTING_SMALL_CLUSTER_H_
