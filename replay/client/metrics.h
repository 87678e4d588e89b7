// The Prometheus metrics of the replay's clients.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_
#define MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>

#include "metrics/families.h"

namespace mallocmuzero {

// The metrics of a writer. Thread-safe.
struct WriterMetrics {
  // Registers the metrics in `registry`, which is not owned and must outlive them. If it is null,
  // in a registry of their own that is not served.
  explicit WriterMetrics(prometheus::Registry* registry);

  // The metrics of one shard, which stay as long as the registry, but `connected` until Forget. The
  // same name gives the same metrics.
  struct OfShard {
    prometheus::Counter* acknowledged = nullptr;
    prometheus::Counter* refused = nullptr;
    prometheus::Counter* resent = nullptr;
    prometheus::Counter* lost_streams = nullptr;
    prometheus::Gauge* connected = nullptr;
  };
  OfShard Of(const std::string& shard) const;

  // Says no longer whether the shard is connected, because it has left. `connected` of an earlier
  // OfShard must not be used any more.
  void Forget(const std::string& shard) const;

  RegistryOrOwn used_registry;
  prometheus::Family<prometheus::Counter>* acknowledged;
  prometheus::Family<prometheus::Counter>* refused;
  prometheus::Family<prometheus::Counter>* resent;
  prometheus::Family<prometheus::Counter>* lost_streams;
  prometheus::Family<prometheus::Gauge>* connected;
  prometheus::Gauge* spooled_bytes;
  prometheus::Counter* blocked_seconds;
};

// The metrics of a sampler, with the same rules. Thread-safe.
struct SamplerMetrics {
  explicit SamplerMetrics(prometheus::Registry* registry);

  struct OfShard {
    prometheus::Counter* draws = nullptr;
    prometheus::Counter* lost_streams = nullptr;
    prometheus::Gauge* connected = nullptr;
  };
  OfShard Of(const std::string& shard) const;

  RegistryOrOwn used_registry;
  prometheus::Family<prometheus::Counter>* draws;
  prometheus::Family<prometheus::Counter>* lost_streams;
  prometheus::Family<prometheus::Gauge>* connected;
  prometheus::Counter* invalid_items;
  prometheus::Counter* wait_seconds;
  prometheus::Counter* sent_priorities;
  prometheus::Counter* dropped_priorities;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_METRICS_H_
