#include "actor/role/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "metrics/families.h"

namespace mallocmuzero {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// The buckets of rows are 1, 2 to 3, 4 to 7, ..., 4096 to 8191, and more.
constexpr size_t kBatchBounds = 13;

Histogram::BucketBoundaries BatchBounds() {
  Histogram::BucketBoundaries bounds;
  for (size_t b = 0; b < kBatchBounds; ++b) {
    bounds.push_back(static_cast<double>((uint64_t{2} << b) - 1));
  }
  return bounds;
}

}  // namespace

struct ActorMetrics::Families {
  explicit Families(Registry& all) : registry(all) {}

  Registry& registry;
  Counter& games = MakeCounter(registry, "mallocmuzero_actor_games_total", "Games played.");
  Counter& decisions = MakeCounter(registry, "mallocmuzero_actor_decisions_total",
                                   "Decisions taken in the games played.");
  Counter& searches =
      MakeCounter(registry, "mallocmuzero_actor_searches_total", "Decisions that were searched.");
  Counter& simulations =
      MakeCounter(registry, "mallocmuzero_actor_simulations_total", "Steps of searches.");
  Family<Counter>& seconds = MakeCounters(registry, "mallocmuzero_actor_seconds_total",
                                          "Time of all threads that play, by state.");
  Counter& game_seconds = seconds.Add({{"state", "game"}});
  Counter& network_seconds = seconds.Add({{"state", "network"}});
  Counter& tree_seconds = seconds.Add({{"state", "tree"}});
  Counter& writing_seconds = seconds.Add({{"state", "writing"}});
  Counter& waiting_seconds = seconds.Add({{"state", "waiting"}});
  FollowingHistogram batch_rows = FollowingHistogram(MakeHistogram(
      registry, "mallocmuzero_actor_batch_rows", "Rows of a call of the network.", BatchBounds()));
  Gauge& step = MakeGauge(registry, "mallocmuzero_actor_network_step",
                          "Updates that made the weights in use.");
  Gauge& lag = MakeGauge(registry, "mallocmuzero_actor_policy_lag_updates",
                         "Updates that the weights in use are behind the newest known.");
  ReasonGauges<PlayBlock::On> blocked = {registry,
                                         "mallocmuzero_actor_blocked",
                                         "1 for what all threads wait for, else 0.",
                                         {{PlayBlock::On::kLearner, "learner"},
                                          {PlayBlock::On::kReplay, "replay"},
                                          {PlayBlock::On::kSpool, "spool"},
                                          {PlayBlock::On::kSolvers, "solvers"}}};
  Counter& notices =
      MakeCounter(registry, "mallocmuzero_actor_versions_total", "Newer weights heard of.");
  Counter& fetches =
      MakeCounter(registry, "mallocmuzero_actor_fetches_total", "Newer weights that have arrived.");
  Counter& fetched_bytes = MakeCounter(registry, "mallocmuzero_actor_fetched_bytes_total",
                                       "Bytes of weights and programs from the learner.");
  Counter& fetch_seconds = MakeCounter(registry, "mallocmuzero_actor_fetch_seconds_total",
                                       "Time that weights took to arrive.");
  Counter& damaged = MakeCounter(registry, "mallocmuzero_actor_damaged_fetches_total",
                                 "Files from the learner whose SHA-256 was wrong.");
  Counter& failed_reports = MakeCounter(registry, "mallocmuzero_actor_failed_reports_total",
                                        "Reports that the learner did not answer.");
};

ActorMetrics::ActorMetrics(prometheus::Registry& registry)
    : families_(std::make_unique<Families>(registry)) {}

ActorMetrics::~ActorMetrics() = default;

void ActorMetrics::Update(const ActorFigures& figures) {
  Families& f = *families_;
  const SelfPlayStats& stats = figures.play.stats;
  Raise(f.games, static_cast<double>(stats.games));
  Raise(f.decisions, static_cast<double>(stats.decisions));
  Raise(f.searches, static_cast<double>(stats.searches));
  Raise(f.simulations, static_cast<double>(stats.simulations));
  Raise(f.game_seconds, stats.game_seconds);
  Raise(f.network_seconds, stats.network_seconds);
  Raise(f.tree_seconds, stats.tree_seconds);
  Raise(f.writing_seconds, figures.play.writing_seconds);
  Raise(f.waiting_seconds, figures.play.waiting_seconds);
  std::array<uint64_t, kBatchBounds + 1> batches = {};
  for (size_t b = 0; b < BatchHistogram::kBuckets; ++b) {
    batches[std::min(b, kBatchBounds)] += stats.batches.buckets()[b];
  }
  f.batch_rows.Follow(batches, static_cast<double>(stats.batches.rows()));
  f.step.Set(static_cast<double>(figures.network_step));
  f.lag.Set(static_cast<double>(figures.policy_lag));
  f.blocked.Set(figures.blocked_on);
  Raise(f.notices, static_cast<double>(figures.learner.notices));
  Raise(f.fetches, static_cast<double>(figures.learner.fetches));
  Raise(f.fetched_bytes, static_cast<double>(figures.learner.fetched_bytes));
  Raise(f.fetch_seconds, figures.learner.fetch_seconds);
  Raise(f.damaged, static_cast<double>(figures.learner.damaged_fetches));
  Raise(f.failed_reports, static_cast<double>(figures.learner.failed_reports));
}

}  // namespace mallocmuzero
