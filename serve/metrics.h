// The Prometheus metrics of `serve`.

#ifndef MALLOCMUZERO_SERVE_METRICS_H_
#define MALLOCMUZERO_SERVE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>

#include "absl/status/status.h"
#include "metrics/families.h"
#include "serve/batch_lane.h"
#include "serve/mapping_search.h"

namespace mallocmuzero {

// metrics.cc lists the names, types and help texts. Thread-safe.
class ServeMetrics {
 public:
  // Registers the metrics in `registry`, which is not owned and must outlive them. If it is null,
  // in a registry of their own that is not served.
  explicit ServeMetrics(prometheus::Registry* registry);

  // A request ended: with the figures of its search, or with an error.
  void CountSearch(const SearchFigures& figures);
  void CountError(const absl::Status& status);

  // A better mapping was handed to gRPC.
  void CountBetter();

  void CountBatch(const LaneBatch& batch);
  void CountReload(bool loaded);

  // The load and the network now.
  void Update(uint32_t running, uint32_t waiting, uint64_t network_step);

 private:
  RegistryOrOwn registry_;
  prometheus::Family<prometheus::Counter>* requests_;
  prometheus::Counter* games_;
  prometheus::Counter* simulations_;
  prometheus::Counter* better_;
  prometheus::Counter* reloads_;
  prometheus::Counter* failed_reloads_;
  prometheus::Gauge* running_;
  prometheus::Gauge* waiting_;
  prometheus::Gauge* network_step_;
  prometheus::Histogram* wait_seconds_;
  prometheus::Histogram* prepare_seconds_;
  prometheus::Histogram* search_seconds_;
  prometheus::Histogram* batch_searches_;
  prometheus::Histogram* batch_rows_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_METRICS_H_
