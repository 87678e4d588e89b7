// Serves a process's metrics over HTTP for Prometheus.

#ifndef MALLOCMUZERO_METRICS_METRICS_SERVER_H_
#define MALLOCMUZERO_METRICS_METRICS_SERVER_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/http_listener.h"

namespace mallocmuzero {

// While it lives, http://ADDRESS/metrics serves the metrics of the registry and of the process
// (metrics/process_usage.h). /healthz and /readyz answer 200, or 503 with the reason: /healthz if
// the process is not well, so that a restart may help, and /readyz if it cannot do its work now, so
// that others should not send work to it. Uses threads of its own, and no TLS.
class MetricsServer {
 public:
  // Returns an error that says why the process is not well or not ready. Called from any thread;
  // must not wait.
  using Health = std::function<absl::Status()>;

  using HeaderCheck = std::function<bool(absl::string_view authorization)>;

  // Starts to listen on `address` (host:port); port 0 takes any free port. InvalidArgument names
  // the address if it is malformed or the server cannot listen on it. If `access` is given, it gets
  // the header "Authorization" of each request for /metrics, and the request is refused if it
  // returns false. Called from any thread.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const std::string& address, const std::shared_ptr<prometheus::Registry>& registry,
      Health health = [] { return absl::OkStatus(); }, HeaderCheck access = {},
      Health readiness = [] { return absl::OkStatus(); });

  // host:port with the port that the server listens on.
  const std::string& address() const { return address_; }

 private:
  MetricsServer() = default;

  std::string address_;

  // The threads of prometheus-cpp's own server would not start in a process with LibTorch, because
  // their stacks are too small for its thread-local storage.
  HttpListener listener_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_METRICS_SERVER_H_
