// What the clients of the replay tell Prometheus.

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

// Of a writer; one of each shard, in their order, where there are several. Thread-safe.
struct WriterMetrics {
  // Not owned; null: a registry that nobody reads.
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

// Of a sampler, likewise.
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
