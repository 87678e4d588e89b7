// The Prometheus metrics of a replay shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

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
  // `shard` is the name by which the metrics of clients name the shard.
  explicit ReplayMetrics(prometheus::Registry* registry, v1::ReplayStats earlier = {},
                         const std::string& shard = "");

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
  // Each registers a part of the metrics.
  void MakeTotals();                                // what has come, was drawn and has gone
  void MakeSizes();                                 // what is stored
  void MakeLimiterGauges();                         // the rate limiter
  void MakeStreamGauges(const std::string& shard);  // streams, and what they wait for
  void MakeCommitHistograms();                      // groups of inserts

  const v1::ReplayStats earlier_;
  RegistryOrOwn registry_;
  prometheus::Counter* inserted_items_ = nullptr;
  prometheus::Counter* inserted_positions_ = nullptr;
  prometheus::Counter* inserted_bytes_ = nullptr;
  prometheus::Counter* duplicate_items_ = nullptr;
  prometheus::Counter* refused_items_ = nullptr;
  prometheus::Counter* evicted_items_ = nullptr;
  prometheus::Counter* sampled_positions_ = nullptr;
  prometheus::Counter* sampled_bytes_ = nullptr;
  prometheus::Counter* updated_priorities_ = nullptr;
  prometheus::Counter* failed_commits_ = nullptr;
  prometheus::Counter* unreadable_items_ = nullptr;
  prometheus::Counter* ids_forgotten_early_ = nullptr;
  prometheus::Gauge* remembered_ids_ = nullptr;
  prometheus::Gauge* items_ = nullptr;
  prometheus::Gauge* positions_ = nullptr;
  prometheus::Gauge* bytes_ = nullptr;
  prometheus::Gauge* bytes_in_memory_ = nullptr;
  prometheus::Gauge* bytes_on_disk_ = nullptr;
  prometheus::Gauge* limiter_error_ = nullptr;
  prometheus::Gauge* limiter_buffer_ = nullptr;
  prometheus::Gauge* samples_per_insert_ = nullptr;
  prometheus::Gauge* insert_streams_ = nullptr;
  prometheus::Gauge* sample_streams_ = nullptr;
  prometheus::Gauge* blocked_inserts_ = nullptr;
  prometheus::Gauge* blocked_samples_ = nullptr;
  prometheus::Gauge* draining_ = nullptr;
  ReasonGauges<ReplayBlock::On> blocked_;
  prometheus::Histogram* commit_seconds_ = nullptr;
  prometheus::Histogram* commit_items_ = nullptr;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_METRICS_H_
