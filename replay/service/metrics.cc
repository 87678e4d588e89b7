#include "replay/service/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "metrics/families.h"

namespace mallocmuzero {
namespace {

std::string Name(const char* what) { return absl::StrCat("mallocmuzero_replay_", what); }

}  // namespace

ReplayMetrics::ReplayMetrics(prometheus::Registry* registry, v1::ReplayStats earlier,
                             const std::string& shard)
    : earlier_(std::move(earlier)), registry_(registry) {
  MakeTotals();
  MakeSizes();
  MakeLimiterGauges();
  MakeStreamGauges(shard);
  MakeCommitHistograms();
}

void ReplayMetrics::MakeTotals() {
  prometheus::Registry& to = registry_.get();
  inserted_items_ =
      &MakeCounter(to, Name("inserted_items_total"), "Trajectories that were inserted and stored.");
  inserted_positions_ =
      &MakeCounter(to, Name("inserted_positions_total"),
                   "Decisions that players took in the trajectories inserted and stored; "
                   "of a window of a best game only those in it.");
  inserted_bytes_ = &MakeCounter(to, Name("inserted_bytes_total"), "Bytes of insert requests.");
  duplicate_items_ =
      &MakeCounter(to, Name("duplicate_items_total"), "Inserts of trajectories that were known.");
  refused_items_ =
      &MakeCounter(to, Name("refused_items_total"), "Trajectories refused, as they are not valid.");
  evicted_items_ = &MakeCounter(to, Name("evicted_items_total"),
                                "Trajectories that left because of the bounds.");
  ids_forgotten_early_ = &MakeCounter(to, Name("ids_forgotten_early_total"),
                                      "Ids of evicted trajectories forgotten before their time: "
                                      "remember_evicted_bytes is too small.");
  sampled_positions_ = &MakeCounter(to, Name("sampled_positions_total"),
                                    "Positions drawn that count for the rate limiter.");
  sampled_bytes_ = &MakeCounter(to, Name("sampled_bytes_total"), "Bytes of sample responses.");
  updated_priorities_ =
      &MakeCounter(to, Name("updated_priorities_total"), "Priorities written back.");
  failed_commits_ =
      &MakeCounter(to, Name("failed_commits_total"),
                   "Groups of inserts that could not be stored: disk full or broken.");
  unreadable_items_ = &MakeCounter(
      to, Name("unreadable_items_total"),
      "Trajectories whose bytes on disk are damaged, and reads of trajectories that failed.");
}

void ReplayMetrics::MakeSizes() {
  prometheus::Registry& to = registry_.get();
  remembered_ids_ =
      &MakeGauge(to, Name("remembered_ids"), "Ids of evicted trajectories that are remembered.");
  items_ = &MakeGauge(to, Name("items"), "Trajectories stored.");
  positions_ = &MakeGauge(to, Name("positions"),
                          "Decisions of the trajectories stored: what a draw chooses among.");
  bytes_ = &MakeGauge(to, Name("bytes"), "Bytes of stored trajectories, compressed.");
  bytes_in_memory_ =
      &MakeGauge(to, Name("memory_bytes"), "Bytes of stored trajectories that are in memory.");
  bytes_on_disk_ = &MakeGauge(to, Name("disk_bytes"), "Bytes of the data folder's files.");
}

void ReplayMetrics::MakeLimiterGauges() {
  prometheus::Registry& to = registry_.get();
  limiter_error_ =
      &MakeGauge(to, Name("limiter_error_positions"),
                 "Draws ahead (above 0) or behind (below 0) of inserts times samples_per_insert.");
  limiter_buffer_ =
      &MakeGauge(to, Name("limiter_buffer_positions"),
                 "How far the limiter's error may be from 0 before draws or inserts wait.");
  samples_per_insert_ =
      &MakeGauge(to, Name("limiter_samples_per_insert_ratio"),
                 "How often each position is to be drawn, on average; 0: there is no limit.");
}

void ReplayMetrics::MakeStreamGauges(const std::string& shard) {
  prometheus::Registry& to = registry_.get();
  insert_streams_ = &MakeGauge(to, Name("insert_streams"), "Open insert streams.");
  sample_streams_ = &MakeGauge(to, Name("sample_streams"), "Open sample streams.");
  blocked_inserts_ =
      &MakeGauge(to, Name("blocked_inserts"), "Insert requests that wait for the rate limiter.");
  blocked_samples_ =
      &MakeGauge(to, Name("blocked_samples"),
                 "Sample streams that wait for the rate limiter or for trajectories.");
  draining_ =
      &MakeGauges(to, Name("draining"), "1: inserts are refused by an administrator's order.")
           .Add({{"shard", shard}});
  blocked_ = {to,
              Name("blocked"),
              "1 for what streams of the shard wait for, else 0.",
              {{ReplayBlock::On::kDisk, "disk"},
               {ReplayBlock::On::kDraining, "draining"},
               {ReplayBlock::On::kRateLimiter, "rate_limiter"},
               {ReplayBlock::On::kMinSize, "min_size"}}};
}

void ReplayMetrics::MakeCommitHistograms() {
  prometheus::Registry& to = registry_.get();
  commit_seconds_ = &MakeHistogram(to, Name("commit_seconds"), "Time to store a group of inserts.",
                                   {1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10});
  commit_items_ = &MakeHistogram(to, Name("commit_items"), "Trajectories stored as one group.",
                                 {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096});
}

void ReplayMetrics::Update(const v1::ReplayStats& stats, double bytes_in_memory,
                           ReplayBlock::On blocked_on) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const auto raise = [&](prometheus::Counter& counter, uint64_t (v1::ReplayStats::*count)() const) {
    Raise(counter, number((stats.*count)()) - number((earlier_.*count)()));
  };
  raise(*inserted_items_, &v1::ReplayStats::inserted_items);
  raise(*inserted_positions_, &v1::ReplayStats::inserted_positions);
  raise(*duplicate_items_, &v1::ReplayStats::duplicate_items);
  raise(*evicted_items_, &v1::ReplayStats::evicted_items);
  raise(*sampled_positions_, &v1::ReplayStats::drawn_positions);
  raise(*ids_forgotten_early_, &v1::ReplayStats::ids_forgotten_early);
  raise(*unreadable_items_, &v1::ReplayStats::unreadable_items);
  remembered_ids_->Set(number(stats.remembered_ids()));
  items_->Set(number(stats.items()));
  positions_->Set(number(stats.positions()));
  bytes_->Set(number(stats.bytes()));
  bytes_in_memory_->Set(bytes_in_memory);
  bytes_on_disk_->Set(number(stats.bytes_on_disk()));
  limiter_error_->Set(stats.limiter_error());
  limiter_buffer_->Set(stats.rate_limit().error_buffer());
  samples_per_insert_->Set(stats.rate_limit().samples_per_insert());
  insert_streams_->Set(stats.insert_streams());
  sample_streams_->Set(stats.sample_streams());
  blocked_inserts_->Set(stats.blocked_inserts());
  blocked_samples_->Set(stats.blocked_samples());
  draining_->Set(stats.draining() ? 1 : 0);
  blocked_.Set(blocked_on);
}

}  // namespace mallocmuzero
