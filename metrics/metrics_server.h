// Metrics over HTTP, for Prometheus.

#ifndef MALLOCMUZERO_METRICS_METRICS_SERVER_H_
#define MALLOCMUZERO_METRICS_METRICS_SERVER_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mallocmuzero {

// While it lives, http://ADDRESS/metrics has the registry's metrics and the process's
// (metrics/process_usage.h), and /healthz answers 200, or 503 with the reason why the process is
// not well.
class MetricsServer {
 public:
  // Says why the process is not well. Called from any thread; must not wait.
  using Health = std::function<absl::Status()>;

  // `address` is host:port; port 0: any free one. InvalidArgument if it cannot be listened on. With
  // a `token`, requests for /metrics must carry it ("Authorization: Bearer TOKEN").
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const std::string& address, const std::shared_ptr<prometheus::Registry>& registry,
      Health health = [] { return absl::OkStatus(); }, const std::string& token = {});
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
