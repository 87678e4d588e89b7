// The Prometheus metrics of a learner.

#ifndef MALLOCMUZERO_LEARNER_ROLE_METRICS_H_
#define MALLOCMUZERO_LEARNER_ROLE_METRICS_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <string>
#include <vector>

#include "learner/role/actor_book.h"
#include "learner/role/drawn_ages.h"
#include "learner/role/learner_block.h"
#include "learner/role/training.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// The values of all metrics at one time.
struct LearnerFigures {
  TrainingFigures training;
  ActorTotals actors;
  std::vector<v1::TrainMetrics::Program> programs;  // with mean returns
  std::vector<double> program_weights;              // the share of games of each of `programs`
  uint64_t published_step = 0;
  uint64_t fetched_bytes = 0;
  uint64_t watchers = 0;
  uint64_t prepared_batches = 0;
  double draw_seconds = 0;
  double make_seconds = 0;
  uint64_t refused_rows = 0;
  uint64_t scored_versions = 0;
  uint64_t games_seen = 0;
  LearnerBlock::On blocked_on = LearnerBlock::On::kNothing;
};

// metrics.cc lists the names, types and help texts. Not thread-safe.
class LearnerMetrics {
 public:
  // Registers the metrics. `registry` must outlive them.
  explicit LearnerMetrics(prometheus::Registry& registry);
  ~LearnerMetrics();
  LearnerMetrics(const LearnerMetrics&) = delete;
  LearnerMetrics& operator=(const LearnerMetrics&) = delete;

  // Sets all metrics. Counters follow the totals in `figures`.
  void Update(const LearnerFigures& figures);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_METRICS_H_
