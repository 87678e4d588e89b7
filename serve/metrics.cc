#include "serve/metrics.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "metrics/families.h"

namespace mallocmuzero {
namespace {

constexpr char kRequestsHelp[] =
    "Requests that ended: ok, interrupted (by the end of the server), or the name of the error.";

std::string MetricName(const char* what) { return absl::StrCat("mallocmuzero_serve_", what); }

}  // namespace

ServeMetrics::ServeMetrics(prometheus::Registry* registry) : registry_(registry) {
  prometheus::Registry& to = registry_.get();
  requests_ = &MakeCounters(to, MetricName("requests_total"), kRequestsHelp);
  games_ = &MakeCounter(to, MetricName("games_total"), "Games played for requests, also in part.");
  simulations_ = &MakeCounter(to, MetricName("simulations_total"),
                              "Steps of the network in the agent's searches.");
  better_ = &MakeCounter(to, MetricName("better_total"),
                         "Better mappings that were sent before the results.");
  auto& reloads = MakeCounters(to, MetricName("reloads_total"),
                               "Other checkpoints that were found: loaded, or failed to load.");
  reloads_ = &reloads.Add({{"result", "loaded"}});
  failed_reloads_ = &reloads.Add({{"result", "failed"}});
  running_ = &MakeGauge(to, MetricName("running"), "Searches that run.");
  waiting_ = &MakeGauge(to, MetricName("waiting"), "Requests that wait for a search to end.");
  network_step_ = &MakeGauge(to, MetricName("network_step"),
                             "Updates of the weights that new searches play; 0 without a network.");
  const prometheus::Histogram::BucketBoundaries seconds = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3,  1,
                                                           3,    10,   30,   100,  300, 1000, 3600};
  wait_seconds_ =
      &MakeHistogram(to, MetricName("wait_seconds"),
                     "Time from the arrival of a request until a thread took it.", seconds);
  prepare_seconds_ = &MakeHistogram(to, MetricName("prepare_seconds"),
                                    "Time to read or import a program.", seconds);
  search_seconds_ = &MakeHistogram(to, MetricName("search_seconds"), "Time of a search.", seconds);
  batch_searches_ =
      &MakeHistogram(to, MetricName("batch_searches"),
                     "Searches that share a batch of the network.", {1, 2, 3, 4, 6, 8, 12, 16, 32});
  batch_rows_ =
      &MakeHistogram(to, MetricName("batch_rows"), "Positions and latent states in a batch.",
                     {1, 4, 16, 32, 64, 128, 256, 512, 1024});
}

void ServeMetrics::CountSearch(const SearchFigures& figures) {
  requests_->Add({{"outcome", figures.interrupted ? "interrupted" : "ok"}}).Increment();
  games_->Increment(static_cast<double>(figures.games));
  simulations_->Increment(static_cast<double>(figures.simulations));
  wait_seconds_->Observe(figures.wait_seconds);
  prepare_seconds_->Observe(figures.prepare_seconds);
  search_seconds_->Observe(figures.search_seconds);
}

void ServeMetrics::CountError(const absl::Status& status) {
  const std::string outcome = absl::AsciiStrToLower(absl::StatusCodeToString(status.code()));
  requests_->Add({{"outcome", outcome}}).Increment();
}

void ServeMetrics::CountBetter() { better_->Increment(); }

void ServeMetrics::CountBatch(const LaneBatch& batch) {
  batch_searches_->Observe(batch.searches);
  batch_rows_->Observe(batch.rows);
}

void ServeMetrics::CountReload(bool loaded) { (loaded ? reloads_ : failed_reloads_)->Increment(); }

void ServeMetrics::Update(uint32_t running, uint32_t waiting, uint64_t network_step) {
  running_->Set(running);
  waiting_->Set(waiting);
  network_step_->Set(static_cast<double>(network_step));
}

}  // namespace mallocmuzero
