#include "learner/role/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "metrics/families.h"
#include "metrics/loss_gauges.h"
#include "metrics/program_returns.h"

namespace mallocmuzero {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

}  // namespace

struct LearnerMetrics::Families {
  explicit Families(Registry& all) : registry(all) {}

  Registry& registry;
  Gauge& step = MakeGauge(registry, "mallocmuzero_learner_step",
                          "Updates of the weights, those before a restart counted.");
  Gauge& published_step = MakeGauge(registry, "mallocmuzero_learner_published_step",
                                    "Updates that made the newest weights for actors.");
  Counter& rows = MakeCounter(registry, "mallocmuzero_learner_rows_total",
                              "Positions trained on by this process.");
  Family<Counter>& seconds = MakeCounters(registry, "mallocmuzero_learner_seconds_total",
                                          "Time of the training thread, by state.");
  Counter& waiting = seconds.Add({{"state", "waiting"}});
  Counter& agreeing = seconds.Add({{"state", "agreeing"}});
  Counter& updating = seconds.Add({{"state", "updating"}});
  Counter& publishing = seconds.Add({{"state", "publishing"}});
  Counter& saving = seconds.Add({{"state", "saving"}});
  Family<Counter>& batch_seconds =
      MakeCounters(registry, "mallocmuzero_learner_batch_seconds_total",
                   "Time of the threads that prepare batches, by state.");
  Counter& drawing = batch_seconds.Add({{"state", "drawing"}});
  Counter& making = batch_seconds.Add({{"state", "making"}});
  Gauge& prepared = MakeGauge(registry, "mallocmuzero_learner_prepared_batches",
                              "Batches that wait for the training thread.");
  Counter& refused_rows = MakeCounter(registry, "mallocmuzero_learner_refused_rows_total",
                                      "Positions drawn whose games were not of this run.");
  Counter& games_seen = MakeCounter(registry, "mallocmuzero_learner_games_seen_total",
                                    "Different games that positions were drawn from.");
  FollowingHistogram drawn_ages = FollowingHistogram(MakeHistogram(
      registry, "mallocmuzero_learner_drawn_age_updates",
      "Updates since the weights that drawn games were played or last searched with.",
      Histogram::BucketBoundaries(DrawnAges::kBounds.begin(), DrawnAges::kBounds.end())));
  LossGauges losses =
      LossGauges(registry, "mallocmuzero_learner", "Mean loss of the latest updates, by head.");
  Gauge& saved = MakeGauge(registry, "mallocmuzero_learner_saved_timestamp_seconds",
                           "When the last checkpoint was saved, since the epoch; 0: not yet.");
  Counter& failed_saves = MakeCounter(registry, "mallocmuzero_learner_failed_saves_total",
                                      "Checkpoints that could not be saved.");
  ReasonGauges<LearnerBlock::On> blocked_on = {
      registry,
      "mallocmuzero_learner_blocked",
      "1 for what keeps the learner from its next update or from saving, else 0.",
      {{LearnerBlock::On::kDisk, "disk"},
       {LearnerBlock::On::kProcesses, "processes"},
       {LearnerBlock::On::kReplay, "replay"},
       {LearnerBlock::On::kGames, "games"},
       {LearnerBlock::On::kBatches, "batches"}}};
  Counter& scored_versions =
      MakeCounter(registry, "mallocmuzero_learner_scored_versions_total",
                  "Versions of the weights that have got a score from evaluation games.");
  Gauge& watchers =
      MakeGauge(registry, "mallocmuzero_learner_watchers", "Actors that wait for newer weights.");
  Counter& fetched_bytes = MakeCounter(registry, "mallocmuzero_learner_fetched_bytes_total",
                                       "Bytes of weights and programs sent to actors.");
  Family<Gauge>& actors =
      MakeGauges(registry, "mallocmuzero_learner_actors", "Actors heard of lately, by kind.");
  // The label is not "role", because a scraper gives every series of this process its own role.
  Gauge& players = actors.Add({{"kind", "actor"}});
  Gauge& reanalysers = actors.Add({{"kind", "reanalyse"}});
  Gauge& blocked = MakeGauge(registry, "mallocmuzero_learner_actors_blocked",
                             "Actors that say they wait for something.");
  Gauge& spooled = MakeGauge(registry, "mallocmuzero_learner_actors_spooled_bytes",
                             "Bytes of games that wait in actors for a replay shard.");
  Gauge& lag = MakeGauge(registry, "mallocmuzero_learner_policy_lag_updates",
                         "Updates that the oldest weights in use are behind the newest.");
  Counter& games = MakeCounter(registry, "mallocmuzero_learner_actor_games_total",
                               "Games that actors have reported.");
  Counter& decisions = MakeCounter(registry, "mallocmuzero_learner_actor_decisions_total",
                                   "Decisions in the games that actors have reported.");
  Counter& simulations =
      MakeCounter(registry, "mallocmuzero_learner_actor_simulations_total",
                  "Steps of the searches that actors and reanalysers have reported.");
  Family<Gauge>& returns =
      MakeGauges(registry, "mallocmuzero_learner_return_ratio",
                 "Share of the all-HBM cycles saved, by program and player: recent games of "
                 "self_play, the last evaluation of the policy, the best game, the greedy player, "
                 "the compiler's default.");
  Family<Gauge>& weights = MakeGauges(registry, "mallocmuzero_learner_program_weight_ratio",
                                      "How often each program is played.");
};

LearnerMetrics::LearnerMetrics(prometheus::Registry& registry)
    : families_(std::make_unique<Families>(registry)) {}

LearnerMetrics::~LearnerMetrics() = default;

void LearnerMetrics::Update(const LearnerFigures& figures) {
  Families& f = *families_;
  const TrainingFigures& training = figures.training;
  f.step.Set(static_cast<double>(training.step));
  f.published_step.Set(static_cast<double>(figures.published_step));
  Raise(f.rows, static_cast<double>(training.rows));
  Raise(f.waiting, training.times.waiting);
  Raise(f.agreeing, training.times.agreeing);
  Raise(f.updating, training.times.updating);
  Raise(f.publishing, training.times.publishing);
  Raise(f.saving, training.times.saving);
  Raise(f.drawing, figures.draw_seconds);
  Raise(f.making, figures.make_seconds);
  f.prepared.Set(static_cast<double>(figures.prepared_batches));
  Raise(f.refused_rows, static_cast<double>(figures.refused_rows));
  f.drawn_ages.Follow(training.drawn_ages.buckets(), training.drawn_ages.sum());
  Raise(f.games_seen, static_cast<double>(figures.games_seen));
  f.losses.Set(training.losses);
  if (training.last_save > absl::InfinitePast()) {
    f.saved.Set(absl::ToDoubleSeconds(training.last_save - absl::UnixEpoch()));
  }
  Raise(f.failed_saves, static_cast<double>(training.failed_saves));
  f.blocked_on.Set(figures.blocked_on);
  Raise(f.scored_versions, static_cast<double>(figures.scored_versions));
  f.watchers.Set(static_cast<double>(figures.watchers));
  Raise(f.fetched_bytes, static_cast<double>(figures.fetched_bytes));
  f.players.Set(figures.actors.actors - figures.actors.reanalysers);
  f.reanalysers.Set(figures.actors.reanalysers);
  f.blocked.Set(figures.actors.blocked);
  f.spooled.Set(figures.actors.spooled_bytes);
  f.lag.Set(static_cast<double>(figures.actors.largest_lag));
  Raise(f.games, figures.actors.games);
  Raise(f.decisions, figures.actors.decisions);
  Raise(f.simulations, figures.actors.simulations);
  for (size_t p = 0; p < figures.programs.size(); ++p) {
    const v1::TrainMetrics::Program& program = figures.programs[p];
    SetReturns(program, f.returns);
    f.weights.Add({{"chip", program.hardware()}, {"program", program.name()}})
        .Set(figures.program_weights[p]);
  }
}

}  // namespace mallocmuzero
