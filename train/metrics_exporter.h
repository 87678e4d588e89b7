// A run's figures for Prometheus.

#ifndef MALLOCMUZERO_TRAIN_METRICS_EXPORTER_H_
#define MALLOCMUZERO_TRAIN_METRICS_EXPORTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "metrics/metrics_server.h"

namespace mallocmuzero {

// Serves http://ADDRESS/metrics while it lives (metrics/metrics_server.h); docs/metrics.md lists
// the names. Update may be called from any one thread.
class MetricsExporter {
 public:
  // `address` is HOST:PORT. InvalidArgument if the server cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsExporter>> Listen(const std::string& address);
  ~MetricsExporter();
  MetricsExporter(const MetricsExporter&) = delete;
  MetricsExporter& operator=(const MetricsExporter&) = delete;

  void Update(const v1::TrainMetrics& metrics);

 private:
  struct Families;

  MetricsExporter();

  std::unique_ptr<Families> families_;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_METRICS_EXPORTER_H_
