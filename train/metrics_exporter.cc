#include "train/metrics_exporter.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "metrics/families.h"
#include "metrics/loss_gauges.h"
#include "metrics/program_returns.h"

namespace mallocmuzero {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

}  // namespace

struct MetricsExporter::Families {
  std::shared_ptr<Registry> registry = std::make_shared<Registry>();

  Counter& iterations =
      MakeCounter(*registry, "mallocmuzero_train_iterations_total",
                  "Rounds of self-play and learning, also those of earlier sittings.");
  Counter& games = MakeCounter(*registry, "mallocmuzero_train_games_total",
                               "Games of self-play and evaluation, also those of earlier sittings; "
                               "reanalysed games do not count.");
  Counter& decisions = MakeCounter(*registry, "mallocmuzero_train_decisions_total",
                                   "Decisions in these games, also those of earlier sittings.");
  Counter& simulations = MakeCounter(*registry, "mallocmuzero_train_simulations_total",
                                     "Simulations of all searches, also those of reanalysis.");
  Counter& updates = MakeCounter(*registry, "mallocmuzero_train_updates_total",
                                 "Updates of the weights, also those of earlier sittings.");
  Counter& play_seconds =
      MakeCounter(*registry, "mallocmuzero_train_play_seconds_total", "Time of the playing half.");
  Counter& learn_seconds = MakeCounter(*registry, "mallocmuzero_train_learn_seconds_total",
                                       "Time of the learning half.");
  Gauge& batch_fill = MakeGauge(*registry, "mallocmuzero_train_batch_fill_rows",
                                "Rows of a network call in self-play, mean.");
  Gauge& replay_games =
      MakeGauge(*registry, "mallocmuzero_train_replay_games", "Games the learner draws from.");
  Gauge& replay_decisions = MakeGauge(*registry, "mallocmuzero_train_replay_decisions",
                                      "Decisions the learner draws from.");
  LossGauges losses = LossGauges(*registry, "mallocmuzero_train",
                                 "Mean loss of the last iteration that learned, by head.");
  Family<Gauge>& returns =
      MakeGauges(*registry, "mallocmuzero_train_return_ratio",
                 "Share of the all-HBM cycles saved, by program and player: the iteration's games "
                 "of self_play, the last evaluation of the policy, the best game, the greedy "
                 "player, the compiler's default.");
};

absl::StatusOr<std::unique_ptr<MetricsExporter>> MetricsExporter::Listen(
    const std::string& address) {
  std::unique_ptr<MetricsExporter> exporter(new MetricsExporter());
  absl::StatusOr<std::unique_ptr<MetricsServer>> server =
      MetricsServer::Listen(address, exporter->families_->registry);
  if (!server.ok()) return server.status();
  exporter->server_ = *std::move(server);
  return exporter;
}

MetricsExporter::MetricsExporter() : families_(std::make_unique<Families>()) {}

MetricsExporter::~MetricsExporter() = default;

void MetricsExporter::Update(const v1::TrainMetrics& metrics) {
  Families& f = *families_;
  Raise(f.iterations, metrics.iteration());
  Raise(f.games, metrics.games());
  Raise(f.decisions, metrics.decisions());
  Raise(f.updates, metrics.updates());
  f.simulations.Increment(metrics.simulations());
  f.play_seconds.Increment(metrics.play_seconds());
  f.learn_seconds.Increment(metrics.learn_seconds());
  f.batch_fill.Set(metrics.batch_fill());
  f.replay_games.Set(metrics.replay_games());
  f.replay_decisions.Set(metrics.replay_decisions());
  if (metrics.has_losses()) f.losses.Set(metrics.losses());
  for (const v1::TrainMetrics::Program& program : metrics.programs()) {
    SetReturns(program, f.returns);
  }
}

}  // namespace mallocmuzero
