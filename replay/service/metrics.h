// The Prometheus metrics of a replay shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "mallocmuzero/v1/replay.pb.h"
#include "metrics/families.h"
#include "replay/service/replay_block.h"

namespace mallocmuzero {

// Thread-safe.
class ReplayMetrics {
 public:
  // Registers the metrics in `registry`, which is not owned and must outlive them. If it is null,
  // in a registry of their own that is not served. Counters begin at 0 and leave out `earlier`,
  // what earlier runs of the shard have counted. A crash loses the counts of the last second.
  // Prometheus would take a lower total for a new counter, and the whole total for its rise.
  explicit ReplayMetrics(prometheus::Registry* registry, v1::ReplayStats earlier = {});

  // Sets the metrics whose values the table and the service count.
  void Update(const v1::ReplayStats& stats, double bytes_in_memory, ReplayBlock::On blocked_on);

  // The metrics that callers count directly.
  prometheus::Counter& inserted_bytes() { return *inserted_bytes_; }
  prometheus::Counter& sampled_bytes() { return *sampled_bytes_; }
  prometheus::Counter& refused_items() { return *refused_items_; }
  prometheus::Counter& failed_commits() { return *failed_commits_; }
  prometheus::Counter& updated_priorities() { return *updated_priorities_; }
  prometheus::Histogram& commit_seconds() { return *commit_seconds_; }
  prometheus::Histogram& commit_items() { return *commit_items_; }

 private:
  const v1::ReplayStats earlier_;
  RegistryOrOwn registry_;
  prometheus::Counter* inserted_items_;
  prometheus::Counter* inserted_positions_;
  prometheus::Counter* inserted_bytes_;
  prometheus::Counter* duplicate_items_;
  prometheus::Counter* refused_items_;
  prometheus::Counter* evicted_items_;
  prometheus::Counter* sampled_positions_;
  prometheus::Counter* sampled_bytes_;
  prometheus::Counter* updated_priorities_;
  prometheus::Counter* failed_commits_;
  prometheus::Counter* unreadable_items_;
  prometheus::Counter* ids_forgotten_early_;
  prometheus::Gauge* remembered_ids_;
  prometheus::Gauge* items_;
  prometheus::Gauge* positions_;
  prometheus::Gauge* bytes_;
  prometheus::Gauge* bytes_in_memory_;
  prometheus::Gauge* bytes_on_disk_;
  prometheus::Gauge* limiter_error_;
  prometheus::Gauge* limiter_buffer_;
  prometheus::Gauge* samples_per_insert_;
  prometheus::Gauge* insert_streams_;
  prometheus::Gauge* sample_streams_;
  prometheus::Gauge* blocked_inserts_;
  prometheus::Gauge* blocked_samples_;
  prometheus::Gauge* draining_;
  ReasonGauges<ReplayBlock::On> blocked_;
  prometheus::Histogram* commit_seconds_;
  prometheus::Histogram* commit_items_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_
