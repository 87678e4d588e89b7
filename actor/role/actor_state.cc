#include "actor/role/actor_state.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

void ActorState::SetAssigned(std::shared_ptr<const AssignedPrograms> assigned) {
  const absl::MutexLock lock(&mutex_);
  inputs_.assigned = std::move(assigned);
  inputs_.program_weights.clear();  // they belong to the old programs
  undemonstrated_.clear();
}

void ActorState::SetNetwork(std::shared_ptr<const NetworkSnapshot> network, uint64_t step) {
  const absl::MutexLock lock(&mutex_);
  inputs_.network = std::move(network);
  inputs_.step = step;
  network_used_ = false;
}

bool ActorState::WantsNetwork() const {
  const absl::MutexLock lock(&mutex_);
  return network_used_ || Lag() > max_policy_lag_;
}

void ActorState::SetOrders(const v1::ActorOrders& orders, absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  last_contact_ = now;
  newest_step_ = orders.step();
  if (inputs_.assigned == nullptr ||
      inputs_.assigned->assignment.version() != orders.assignment_version()) {
    return;
  }
  inputs_.program_weights = {orders.program_weights().begin(), orders.program_weights().end()};
  undemonstrated_ = {orders.demonstrate().begin(), orders.demonstrate().end()};
  // The learner has all reports, so a program that it asks for again was lost, for example with a
  // shard, and must be shown again.
  const ProgramSet& programs = inputs_.assigned->programs;
  for (const uint32_t p : undemonstrated_) {
    if (p >= programs.size()) continue;
    const auto shown = shown_.find(programs[p].sha256());
    if (shown != shown_.end() && shown->second == Shown::kReported) shown_.erase(shown);
  }
}

const PlayedProgram* ActorState::TakeUndemonstrated(const AssignedPrograms& assigned) {
  const absl::MutexLock lock(&mutex_);
  if (inputs_.assigned.get() != &assigned) return nullptr;
  for (const uint32_t p : undemonstrated_) {
    if (p >= assigned.programs.size()) continue;
    const PlayedProgram& program = assigned.programs[p];
    if (shown_.try_emplace(program.sha256(), Shown::kTaken).second) return &program;
  }
  return nullptr;
}

void ActorState::AddDemonstrated(const std::string& program) {
  const absl::MutexLock lock(&mutex_);
  shown_[program] = Shown::kHandedOver;
}

bool ActorState::MayBeginLocked(absl::Time now) const {
  return inputs_.assigned != nullptr && inputs_.network != nullptr && Lag() <= max_policy_lag_ &&
         now - last_contact_ <= kLearnerAwayPatience;
}

bool ActorState::MayBegin(absl::Time now) const {
  const absl::MutexLock lock(&mutex_);
  return MayBeginLocked(now);
}

std::optional<RoundInputs> ActorState::NextRound(absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  if (!MayBeginLocked(now)) return std::nullopt;
  network_used_ = true;
  return inputs_;
}

void ActorState::AddOutcome(const std::string& program, double value) {
  Outcome& outcome = outcomes_[program];
  outcome.best = outcome.games == 0 ? value : std::max(outcome.best, value);
  ++outcome.games;
  outcome.sum += value;
}

void ActorState::AddRound(const SelfPlayStats& stats, absl::Span<const v1::Trajectory> self_play) {
  const absl::MutexLock lock(&mutex_);
  figures_.stats.Add(stats);
  for (const v1::Trajectory& game : self_play) {
    AddOutcome(game.program_sha256(), TotalReturn(game).share());
  }
}

void ActorState::AddSeconds(double waiting, double writing) {
  const absl::MutexLock lock(&mutex_);
  figures_.waiting_seconds += waiting;
  figures_.writing_seconds += writing;
}

void ActorState::SetBlocked(uint32_t thread, PlayBlock block) {
  const absl::MutexLock lock(&mutex_);
  blocked_[thread] = std::move(block);
}

void ActorState::SetLearnerTrouble(std::string trouble) {
  const absl::MutexLock lock(&mutex_);
  learner_trouble_ = std::move(trouble);
}

PlayBlock ActorState::blocked() const {
  const absl::MutexLock lock(&mutex_);
  PlayBlock any;
  for (const auto& [thread, block] : blocked_) {
    if (block.on == PlayBlock::On::kNothing) return {};
    any = block;
  }
  if (any.on == PlayBlock::On::kLearner && any.why.empty()) any.why = learner_trouble_;
  return any;
}

PlayFigures ActorState::figures() const {
  const absl::MutexLock lock(&mutex_);
  return figures_;
}

uint64_t ActorState::network_step() const {
  const absl::MutexLock lock(&mutex_);
  return inputs_.step;
}

uint64_t ActorState::policy_lag() const {
  const absl::MutexLock lock(&mutex_);
  return Lag();
}

void ActorState::TakeOutcomes(v1::ActorReport& report) {
  const absl::MutexLock lock(&mutex_);
  if (!unanswered_.outcomes().empty()) {
    *report.mutable_outcomes() = unanswered_.outcomes();
    report.set_outcomes_number(unanswered_.outcomes_number());
    unanswered_.Clear();
  } else if (!outcomes_.empty()) {
    for (const auto& [program, outcome] : outcomes_) {
      v1::ActorReport::Outcome& reported = *report.add_outcomes();
      reported.set_program_sha256(program);
      reported.set_games(outcome.games);
      reported.set_mean_return(outcome.sum / static_cast<double>(outcome.games));
      reported.set_best_return(outcome.best);
    }
    report.set_outcomes_number(++outcomes_number_);
    outcomes_.clear();
  }
  for (auto& [program, shown] : shown_) {
    if (shown != Shown::kHandedOver) continue;
    report.add_demonstrated(program);
    shown = Shown::kReported;
  }
}

void ActorState::PutBackOutcomes(const v1::ActorReport& report) {
  const absl::MutexLock lock(&mutex_);
  *unanswered_.mutable_outcomes() = report.outcomes();
  unanswered_.set_outcomes_number(report.outcomes_number());
  for (const std::string& program : report.demonstrated()) shown_[program] = Shown::kHandedOver;
}

}  // namespace mallocmuzero
