// The Prometheus metrics of the replay's clients.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_
#define MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "replay/client/shard_address.h"

namespace mallocmuzero {

// The metrics of a writer. A vector has one metric for each shard, in the shards' order.
// Thread-safe.
struct WriterMetrics {
  // Registers the metrics in `registry`, which is not owned and must outlive them. If it is null,
  // in a registry of their own that is not served.
  WriterMetrics(prometheus::Registry* registry, absl::Span<const ShardAddress> shards);

  std::unique_ptr<prometheus::Registry> own_registry;
  std::vector<prometheus::Counter*> acknowledged;
  std::vector<prometheus::Counter*> refused;
  std::vector<prometheus::Counter*> resent;
  std::vector<prometheus::Counter*> lost_streams;
  std::vector<prometheus::Gauge*> connected;
  prometheus::Gauge* spooled_bytes;
  prometheus::Counter* blocked_seconds;
};

// The metrics of a sampler, with the same rules. Thread-safe.
struct SamplerMetrics {
  SamplerMetrics(prometheus::Registry* registry, absl::Span<const ShardAddress> shards);

  std::unique_ptr<prometheus::Registry> own_registry;
  std::vector<prometheus::Counter*> draws;
  std::vector<prometheus::Counter*> lost_streams;
  std::vector<prometheus::Gauge*> connected;
  prometheus::Counter* invalid_items;
  prometheus::Counter* wait_seconds;
  prometheus::Counter* sent_priorities;
  prometheus::Counter* dropped_priorities;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_
