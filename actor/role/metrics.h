// The Prometheus metrics of an actor.

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

// The values of all metrics at one time. The bytes in the spool are among the replay writer's own
// metrics.
struct ActorFigures {
  PlayFigures play;
  LearnerClientFigures learner;
  uint64_t network_step = 0;
  uint64_t policy_lag = 0;
  PlayBlock::On blocked_on = PlayBlock::On::kNothing;
};

// metrics.cc lists the names, types and help texts. Not thread-safe.
class ActorMetrics {
 public:
  // Registers the metrics. `registry` must outlive them.
  explicit ActorMetrics(prometheus::Registry& registry);
  ~ActorMetrics();
  ActorMetrics(const ActorMetrics&) = delete;
  ActorMetrics& operator=(const ActorMetrics&) = delete;

  // Sets all metrics. Counters follow the totals in `figures`.
  void Update(const ActorFigures& figures);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_METRICS_H_
