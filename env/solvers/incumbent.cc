#include "env/solvers/incumbent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "env/solvers/have_same_future.h"

namespace mallocmuzero {
namespace {

// Cycles of equal games differ by rounding only, by no more than this share of them.
constexpr double kRounding = 1e-11;

constexpr double kAnything = std::numeric_limits<double>::infinity();

}  // namespace

Incumbent::Incumbent(const ProgramRules& rules)
    : rules_(rules),
      plan_(rules.access_count(), Action::kDrop),
      steps_(rules.access_count()),
      in_fast_memory_(rules.access_count(), 0),
      game_(rules),
      trial_(rules.access_count()),
      snapshots_(rules) {}

void Incumbent::Reset(Plan plan) {
  const bool is_first = version_ == 0;
  const auto first =
      AccessIndex(std::mismatch(plan_.begin(), plan_.end(), plan.begin()).first - plan_.begin());
  plan_ = std::move(plan);
  if (is_first) {
    Replay(0);
    snapshots_.Restart(game_.MemoryBytes(), SnapshotStore::Use::kWholeGames);
  } else if (std::min(first, inexact_from_) < rules_.end_access()) {
    Replay(std::min(first, inexact_from_));
  }
}

void Incumbent::AssumeRests() {
  assumes_rests_ = true;
  snapshots_.Restart(game_.CopyBytes(), SnapshotStore::Use::kParts);
}

void Incumbent::Confirm() {
  if (!is_exact()) Replay(inexact_from_);
}

bool Incumbent::Try(absl::Span<const PlanChange> changes, double limit,
                    absl::FunctionRef<bool()> give_up) {
  const AccessIndex first = FirstEffect(changes);
  undo_.clear();
  if (first < rules_.end_access()) GoTo(first);
  for (const PlanChange& change : changes) {
    undo_.push_back({change.access, plan_[change.access]});
    plan_[change.access] = change.action;
  }
  if (first == rules_.end_access()) return false;
  switch (Play(first, changes.back().access, limit, give_up)) {
    case Outcome::kRefused:
      for (const PlanChange& change : undo_) plan_[change.access] = change.action;
      snapshots_.DropTrial();
      break;
    case Outcome::kFinished:
      AcceptToEnd(first);
      // Takes the snapshots that the trial has not kept: the next tries end at them.
      if (assumes_rests_) GoTo(std::min(first + kFar, rules_.end_access() - 1));
      break;
    case Outcome::kJoined:
      AcceptPart(first);
      break;
  }
  return true;
}

AccessIndex Incumbent::FirstEffect(absl::Span<const PlanChange> changes) const {
  for (const PlanChange& change : changes) {
    const Step& step = steps_[change.access];
    if (step.legal != 0 && Choose(change.action, step.legal) != step.taken) return change.access;
  }
  return rules_.end_access();
}

void Incumbent::GoTo(AccessIndex access) {
  const SnapshotStore::Snapshot& snapshot = snapshots_.Before(access);
  game_ = *snapshot.game;
  game_shift_ = snapshot.shift;
  Advance(access);
}

void Incumbent::Advance(AccessIndex access) {
  while (game_.access() < access) {
    const AccessIndex a = game_.access();
    game_.Follow(plan_, snapshots_.NextEmpty(a, access), Never);
    snapshots_.Offer(a, game_, game_shift_);
  }
}

Incumbent::Outcome Incumbent::Play(AccessIndex first, AccessIndex last_change, double limit,
                                   absl::FunctionRef<bool()> give_up) {
  const double rounding = kRounding * rules_.all_hbm_cycles();
  const AccessIndex keep_from = limit == kAnything ? first : first + kFar;
  AccessIndex filled = first;
  double lead = 0;
  int in_step = 0;
  while (!game_.finished()) {
    if (assumes_rests_ && give_up()) return Outcome::kRefused;
    const AccessIndex a = game_.access();
    for (; filled < a; ++filled) trial_[filled].legal = 0;
    Step& step = trial_[filled++];
    step.cycles = game_.cycles() + game_shift_;
    step.legal = game_.legal_actions();
    step.taken = Choose(plan_[a], step.legal);
    const Step& old = steps_[a];
    const double difference = step.cycles - old.cycles;
    const bool same =
        old.legal != 0 && step.taken == old.taken && std::abs(difference - lead) <= rounding;
    in_step = same ? in_step + 1 : 0;
    lead = difference;
    if (in_step >= kDecisionsInStep && a > last_change) {
      if (cycles_ + difference > limit) return Outcome::kRefused;
      if (assumes_rests_ && JoinsIncumbent()) return Outcome::kJoined;
    }
    const bool is_far = assumes_rests_ && a - last_change >= kNear;
    const bool gains = cycles_ + difference <= limit - rounding;
    if (is_far && !gains && far_played_ > kFarShare * near_played_) return Outcome::kRefused;
    ++(is_far ? far_played_ : near_played_);
    game_.Apply(step.taken);
    if (assumes_rests_ && a >= keep_from) snapshots_.OfferTrial(a, game_, game_shift_);
  }
  for (; filled < rules_.end_access(); ++filled) trial_[filled].legal = 0;
  return game_.cycles() + game_shift_ <= limit ? Outcome::kFinished : Outcome::kRefused;
}

bool Incumbent::JoinsIncumbent() const {
  const SnapshotStore::Snapshot* snapshot = snapshots_.At(game_.access());
  return snapshot != nullptr && HaveSameFuture(game_, *snapshot->game, plan_);
}

void Incumbent::AcceptToEnd(AccessIndex first) {
  std::copy(trial_.IteratorAt(first), trial_.end(), steps_.IteratorAt(first));
  cycles_ = game_.cycles() + game_shift_;
  ++version_;
  std::copy(game_.in_fast_memory().IteratorAt(first), game_.in_fast_memory().end(),
            in_fast_memory_.IteratorAt(first));
  snapshots_.Change(first, rules_.end_access(), 0);
  snapshots_.AcceptTrial();
  if (first <= inexact_from_) inexact_from_ = kExact;  // all that was assumed is played
}

void Incumbent::AcceptPart(AccessIndex first) {
  const AccessIndex end = game_.access();
  const double difference = trial_[end].cycles - steps_[end].cycles;
  std::copy(trial_.IteratorAt(first), trial_.IteratorAt(end), steps_.IteratorAt(first));
  for (AccessIndex a = end; a < steps_.end_index(); ++a) steps_[a].cycles += difference;
  cycles_ += difference;
  ++version_;
  std::copy(game_.in_fast_memory().IteratorAt(first), game_.in_fast_memory().IteratorAt(end),
            in_fast_memory_.IteratorAt(first));
  snapshots_.Change(first, end, difference);
  snapshots_.AcceptTrial();
  inexact_from_ = std::min(inexact_from_, first);
}

void Incumbent::Replay(AccessIndex first) {
  snapshots_.Change(first, rules_.end_access(), 0);
  inexact_from_ = kExact;
  GoTo(first);
  game_shift_ = 0;
  Play(first, rules_.end_access(), kAnything, Never);
  AcceptToEnd(first);
}

void Incumbent::SaveTo(Mark& mark) {
  mark.plan_ = plan_;
  mark.cycles_ = cycles_;
  mark.inexact_from_ = inexact_from_;
  mark.steps_ = steps_;
  mark.in_fast_memory_ = in_fast_memory_;
  snapshots_.SetMark(mark.snapshots_);
}

void Incumbent::GoBackTo(const Mark& mark) {
  plan_ = mark.plan_;
  cycles_ = mark.cycles_;
  inexact_from_ = mark.inexact_from_;
  steps_ = mark.steps_;
  in_fast_memory_ = mark.in_fast_memory_;
  ++version_;
  snapshots_.GoBackTo(mark.snapshots_);
}

}  // namespace mallocmuzero
