// Serves a process's metrics over HTTP for Prometheus.

#ifndef MALLOCMUZERO_METRICS_METRICS_SERVER_H_
#define MALLOCMUZERO_METRICS_METRICS_SERVER_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// While it lives, http://ADDRESS/metrics serves the metrics of the registry and of the process
// (metrics/process_usage.h), and /healthz answers 200. Uses threads of its own, and neither TLS nor
// authentication.
class MetricsServer {
 public:
  // Starts to listen on `address` (host:port); port 0 takes any free port. InvalidArgument names
  // the address if it is malformed or the server cannot listen on it.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const std::string& address, const std::shared_ptr<prometheus::Registry>& registry);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // host:port with the port that the server listens on.
  const std::string& address() const { return address_; }

 private:
  struct Http;

  MetricsServer();

  std::unique_ptr<Http> http_;
  std::string address_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_METRICS_SERVER_H_
