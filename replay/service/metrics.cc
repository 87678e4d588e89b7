#include "replay/service/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {
namespace {

std::string Name(const char* what) { return absl::StrCat("mallocmuzero_replay_", what); }

prometheus::Counter* MakeCounter(prometheus::Registry& registry, const char* what,
                                 const char* help) {
  return &prometheus::BuildCounter().Name(Name(what)).Help(help).Register(registry).Add({});
}

prometheus::Gauge* MakeGauge(prometheus::Registry& registry, const char* what, const char* help) {
  return &prometheus::BuildGauge().Name(Name(what)).Help(help).Register(registry).Add({});
}

prometheus::Histogram* MakeHistogram(prometheus::Registry& registry, const char* what,
                                     const char* help,
                                     const prometheus::Histogram::BucketBoundaries& bounds) {
  return &prometheus::BuildHistogram()
              .Name(Name(what))
              .Help(help)
              .Register(registry)
              .Add({}, bounds);
}

// A counter follows the shard's total, that of earlier runs included.
void Raise(prometheus::Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

}  // namespace

ReplayMetrics::ReplayMetrics(prometheus::Registry* registry)
    : own_registry_(registry == nullptr ? std::make_unique<prometheus::Registry>() : nullptr) {
  prometheus::Registry& to = registry == nullptr ? *own_registry_ : *registry;
  inserted_items_ = MakeCounter(to, "inserted_items_total", "Trajectories stored.");
  inserted_positions_ = MakeCounter(to, "inserted_positions_total", "Their decisions.");
  inserted_bytes_ = MakeCounter(to, "inserted_bytes_total", "Bytes of insert requests.");
  duplicate_items_ =
      MakeCounter(to, "duplicate_items_total", "Inserts of trajectories that were known.");
  refused_items_ = MakeCounter(to, "refused_items_total", "Trajectories that are not valid.");
  evicted_items_ =
      MakeCounter(to, "evicted_items_total", "Trajectories that left because of the bounds.");
  sampled_positions_ =
      MakeCounter(to, "sampled_positions_total", "Draws that count for the rate limiter.");
  sampled_bytes_ = MakeCounter(to, "sampled_bytes_total", "Bytes of sample responses.");
  updated_priorities_ = MakeCounter(to, "updated_priorities_total", "Priorities written back.");
  failed_commits_ = MakeCounter(to, "failed_commits_total",
                                "Groups of inserts that could not be stored: disk full or broken.");
  unreadable_items_ =
      MakeCounter(to, "unreadable_items_total", "Trajectories whose bytes on disk are damaged.");
  items_ = MakeGauge(to, "items", "Trajectories stored.");
  positions_ = MakeGauge(to, "positions", "Their decisions: what a draw chooses among.");
  bytes_ = MakeGauge(to, "bytes", "Of stored trajectories.");
  bytes_in_memory_ = MakeGauge(to, "memory_bytes", "Of stored trajectories that are in memory.");
  bytes_on_disk_ = MakeGauge(to, "disk_bytes", "Of the data folder's files.");
  limiter_error_ =
      MakeGauge(to, "limiter_error_positions",
                "Draws ahead (above 0) or behind (below 0) of inserts times samples_per_insert.");
  insert_streams_ = MakeGauge(to, "insert_streams", "Open insert streams.");
  sample_streams_ = MakeGauge(to, "sample_streams", "Open sample streams.");
  blocked_inserts_ =
      MakeGauge(to, "blocked_inserts", "Insert requests that wait for the rate limiter.");
  blocked_samples_ = MakeGauge(
      to, "blocked_samples", "Sample streams that wait for the rate limiter or for trajectories.");
  draining_ = MakeGauge(to, "draining", "1: inserts are refused by an administrator's order.");
  commit_seconds_ = MakeHistogram(to, "commit_seconds", "Time to store a group of inserts.",
                                  {1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10});
  commit_items_ = MakeHistogram(to, "commit_items", "Trajectories stored as one group.",
                                {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096});
}

void ReplayMetrics::Update(const v1::ReplayStats& stats, double bytes_in_memory) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  Raise(*inserted_items_, number(stats.inserted_items()));
  Raise(*inserted_positions_, number(stats.inserted_positions()));
  Raise(*duplicate_items_, number(stats.duplicate_items()));
  Raise(*evicted_items_, number(stats.evicted_items()));
  Raise(*sampled_positions_, number(stats.drawn_positions()));
  items_->Set(number(stats.items()));
  positions_->Set(number(stats.positions()));
  bytes_->Set(number(stats.bytes()));
  bytes_in_memory_->Set(bytes_in_memory);
  bytes_on_disk_->Set(number(stats.bytes_on_disk()));
  limiter_error_->Set(stats.limiter_error());
  insert_streams_->Set(stats.insert_streams());
  sample_streams_->Set(stats.sample_streams());
  blocked_inserts_->Set(stats.blocked_inserts());
  blocked_samples_->Set(stats.blocked_samples());
  draining_->Set(stats.draining() ? 1 : 0);
}

}  // namespace mallocmuzero
