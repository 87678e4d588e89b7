// What a learner tells about itself: figures for metrics, its status, and orders for actors.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "learner/role/learner_role_impl.h"
#include "metrics/process_usage.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {
namespace {

// The most programs of which one answer asks an actor for demonstrations.
constexpr size_t kMostDemonstrations = 16;

// The most bytes of best games in one answer.
constexpr size_t kMostBestGameBytes = 256 << 10;

}  // namespace

std::vector<PeerState> LearnerRole::Impl::peers() const {
  std::vector<PeerState> peers = sampler_->peers();
  if (watch_ != nullptr) {
    const TrainingFigures figures = training_->figures();
    peers.push_back({.name = "the group of learner processes",
                     .trouble = figures.group_error,
                     .losses = figures.group_losses,
                     .last_loss = figures.last_group_loss});
  }
  return peers;
}

std::vector<double> LearnerRole::Impl::Weights() {
  std::vector<ProgramStanding> standings = book_->Standings();
  const std::vector<std::optional<HbmShare>> means = actors_.MeanReturns();
  const std::vector<std::optional<HbmShare>> best = actors_.BestReturns();
  for (size_t p = 0; p < standings.size(); ++p) {
    standings[p].mean_return = means[p];
    if (best[p].has_value()) {
      standings[p].best_return = std::max(standings[p].best_return, *best[p]);
    }
  }
  return ProgramWeights(standings);
}

LearnerFigures LearnerRole::Impl::Figures() {
  LearnerFigures figures;
  figures.training = training_->figures();
  figures.program_weights = Weights();
  figures.programs = book_->Describe(actors_.MeanReturns());
  if (service_ != nullptr) {
    figures.published_step = service_->published_step();
    figures.fetched_bytes = service_->fetched_bytes();
    figures.watchers = service_->watchers();
  }
  figures.actors = actors_.Totals(figures.published_step, SteadyNow());
  figures.prepared_batches = batches_->depth();
  figures.draw_seconds = batches_->draw_seconds();
  figures.make_seconds = batches_->make_seconds();
  figures.refused_rows = batches_->refused_rows();
  figures.games_seen = book_->taken();
  figures.scored_versions = versions_.scored();
  figures.blocked_on = Blocked(figures.training).on;
  return figures;
}

void LearnerRole::Impl::Tick() {
  if (rank_ > 0) membership_->Follow();
  const LearnerFigures figures = Figures();
  metrics_.Update(figures);
  const absl::Time now = SteadyNow();
  const std::optional<uint64_t> dropped = versions_.DropIfIdle(
      figures.actors.actors - figures.actors.reanalysers, figures.actors.games, now);
  const absl::MutexLock lock(&mutex_);
  if (dropped.has_value()) warnings_.push_back(NoScoreWarning(*dropped));
  weights_ = figures.program_weights;
  rates_.Add(figures.training, figures.actors, now);
}

absl::StatusOr<v1::ActorOrders> LearnerRole::Impl::AcceptReport(const v1::ActorReport& report) {
  const absl::Time now = SteadyNow();
  MMZ_RETURN_IF_ERROR(actors_.Report(report, now));
  book_->AcceptReport(report, now);
  for (const ScoredVersions::ProgramScore& changed : versions_.AcceptReport(report)) {
    book_->SetPolicyReturn(changed.program, HbmShare(changed.score.mean_return));
  }
  v1::ActorOrders orders;
  membership_->AddTo(orders, report);
  if (config_.learner().window_share() > 0 && !report.reanalyse()) {
    book_->AddBestGames(report, kMostBestGameBytes, orders);
  }
  const absl::MutexLock lock(&mutex_);
  if (config_.learner().demonstration_seconds() > 0) {
    // Each report gets another beginning, so that actors demonstrate different programs.
    const auto wanted = book_->Undemonstrated(reports_++, kMostDemonstrations, now);
    orders.mutable_demonstrate()->Add(wanted.begin(), wanted.end());
  }
  orders.mutable_program_weights()->Add(weights_.begin(), weights_.end());
  return orders;
}

LearnerBlock LearnerRole::Impl::Blocked(const TrainingFigures& training) const {
  return BlockOf({.training = training,
                  .started = started_,
                  .processes = config_.learner().processes(),
                  .replay = sampler_->blocked_on(),
                  .shards_reached = AllReached(sampler_->peers()),
                  .refusal = batches_->last_refusal(),
                  .prepared_batches = batches_->depth()},
                 SteadyNow());
}

v1::RoleStatus LearnerRole::Impl::Describe() const {
  const absl::Time now = SteadyNow();
  const TrainingFigures training = training_->figures();
  const uint64_t published = service_->published_step();
  v1::RoleStatus status;
  status.set_role(v1::RoleStatus::LEARNER);
  status.set_name(config_.learner().name());
  // The configured address, because calls arrive before address_ is set.
  status.set_address(config_.learner().address());
  status.set_version(std::string(BuildVersion()));
  status.set_uptime_seconds(absl::ToDoubleSeconds(now - started_));
  status.set_rss_bytes(ResidentBytes());
  const LearnerBlock block = Blocked(training);
  status.set_blocked_on(block.why);
  status.set_flow_control(block.flow_control);
  status.set_trouble(membership_->trouble());
  for (v1::RoleStatus& actor : actors_.Describe(published, now)) {
    *status.add_peers() = std::move(actor);
  }
  auto& figures = *status.mutable_figures();
  figures["step"] = static_cast<double>(training.step);
  figures["published_step"] = static_cast<double>(published);
  figures["prepared_batches"] = static_cast<double>(batches_->depth());
  figures["refused_rows"] = static_cast<double>(batches_->refused_rows());
  figures["games_seen"] = static_cast<double>(book_->taken());
  figures["actors"] = status.peers_size();
  figures["loss"] = training.losses.total();
  if (training.last_save > absl::InfinitePast()) {
    figures["seconds_since_save"] = absl::ToDoubleSeconds(absl::Now() - training.last_save);
  }
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, rate] : rates_.Figures()) figures[name] = rate;
  return status;
}

}  // namespace mallocmuzero
