#include "metrics/metrics_server.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "metrics/process_usage.h"
#include "rpc/host_port.h"

namespace mallocmuzero {
namespace {

// Enough threads for one or two scrapers.
constexpr size_t kThreads = 4;

// A connection serves one request and is closed if none arrives in this time, because the
// destructor has to wait for open connections.
constexpr size_t kRequestsOfConnection = 1;
constexpr time_t kIdleSeconds = 1;

// The largest request: a line and a few headers need far less.
constexpr size_t kMostRequestBytes = 16 << 10;

std::string MetricsText(const prometheus::Registry& registry) {
  std::vector<prometheus::MetricFamily> families = registry.Collect();
  for (prometheus::MetricFamily& family : ProcessCollector().Collect()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

httplib::Server::Handler AnswerOf(MetricsServer::Health check) {
  return [check = std::move(check)](const httplib::Request&, httplib::Response& response) {
    const absl::Status status = check();
    if (!status.ok()) response.status = 503;
    response.set_content(status.ok() ? "ok\n" : absl::StrCat(status.message(), "\n"),
                         "text/plain; charset=utf-8");
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(
    const std::string& address, const std::shared_ptr<prometheus::Registry>& registry,
    Health health, HeaderCheck access, Health readiness) {
  std::optional<HostPort> parsed = ParseHostPort(address, /*least_port=*/0);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(address, ": host:port expected, such as 127.0.0.1:9464"));
  }
  std::unique_ptr<MetricsServer> metrics(new MetricsServer());
  httplib::Server& http = metrics->listener_.http();
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  http.set_payload_max_length(kMostRequestBytes);
  http.set_keep_alive_max_count(kRequestsOfConnection);
  http.set_keep_alive_timeout(kIdleSeconds);
  http.Get("/metrics", [registry, access = std::move(access)](const httplib::Request& request,
                                                              httplib::Response& response) {
    if (access && !access(request.get_header_value("Authorization"))) {
      response.status = 401;
      response.set_header("WWW-Authenticate", "Bearer");
      return;
    }
    response.set_content(MetricsText(*registry), "text/plain; version=0.0.4; charset=utf-8");
  });
  http.Get("/healthz", AnswerOf(std::move(health)));
  http.Get("/readyz", AnswerOf(std::move(readiness)));
  MMZ_RETURN_IF_ERROR(metrics->listener_.Listen(address, *parsed));
  metrics->address_ = ToString(*parsed);
  return metrics;
}

}  // namespace mallocmuzero
