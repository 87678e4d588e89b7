// An actor's figures for Prometheus.

#ifndef MALLOCMUZERO_ACTOR_ROLE_METRICS_H_
#define MALLOCMUZERO_ACTOR_ROLE_METRICS_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <memory>

#include "actor/role/actor_state.h"
#include "actor/role/learner_client.h"
#include "actor/role/play_block.h"
#include "actor/search/batch_histogram.h"

namespace mallocmuzero {

// All there is to tell at one time. Bytes that wait for a shard are in the writer's own metrics.
struct ActorFigures {
  PlayFigures play;
  LearnerClientFigures learner;
  uint64_t network_step = 0;
  uint64_t policy_lag = 0;
  PlayBlock::On blocked_on = PlayBlock::On::kNothing;
};

// Names, types and help texts are in metrics.cc, one after the other. Not thread-safe.
class ActorMetrics {
 public:
  explicit ActorMetrics(prometheus::Registry& registry);
  ~ActorMetrics();
  ActorMetrics(const ActorMetrics&) = delete;
  ActorMetrics& operator=(const ActorMetrics&) = delete;

  void Update(const ActorFigures& figures);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_METRICS_H_
