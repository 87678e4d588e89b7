// Metrics over HTTP, for Prometheus.

#ifndef MALLOCMUZERO_METRICS_METRICS_SERVER_H_
#define MALLOCMUZERO_METRICS_METRICS_SERVER_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// While it lives, http://ADDRESS/metrics has the registry's metrics and the process's
// (metrics/process_usage.h), and /healthz answers 200.
class MetricsServer {
 public:
  // `address` is host:port; port 0: any free one. InvalidArgument if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const std::string& address, const std::shared_ptr<prometheus::Registry>& registry);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // host:port with the port in use.
  const std::string& address() const { return address_; }

 private:
  struct Http;

  MetricsServer();

  std::unique_ptr<Http> http_;
  std::string address_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_METRICS_SERVER_H_
