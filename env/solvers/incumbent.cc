#include "env/solvers/incumbent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mallocmuzero {
namespace {

// Cycles of equal games differ by rounding only, by no more than this share of them.
constexpr double kRounding = 1e-11;

// Rough measurements: the bytes of a game that are copied in the time of one decision, and the
// share of tries that are accepted, most of them games of equal cycles.
constexpr double kBytesPerDecision = 5000;
constexpr double kAcceptedShare = 0.15;

// The distance of snapshots, in accesses, at which tries take the least time. Each try plays half a
// distance to get from a snapshot to its first change. Each accepted one has snapshots taken again,
// on average those of half the program.
uint32_t SnapshotDistance(uint32_t accesses, size_t game_bytes) {
  const double copy = static_cast<double>(game_bytes) / kBytesPerDecision;
  return static_cast<uint32_t>(
      std::clamp(std::sqrt(kAcceptedShare * accesses * copy), 8.0, 8192.0));
}

}  // namespace

Incumbent::Incumbent(const ProgramRules& rules)
    : rules_(rules),
      plan_(rules.access_count(), Action::kDrop),
      steps_(rules.access_count()),
      game_(rules),
      trial_(rules.access_count()),
      snapshots_(1, game_) {}

void Incumbent::Reset(Plan plan) {
  plan_ = std::move(plan);
  std::fill(steps_.begin(), steps_.end(), Step());
  valid_snapshots_ = 1;
  game_ = snapshots_[0];
  Play(0, std::numeric_limits<double>::infinity());
  snapshot_distance_ = SnapshotDistance(rules_.access_count(), game_.MemoryBytes());
  Accept(0);
}

bool Incumbent::Try(absl::Span<const PlanChange> changes, double limit) {
  const uint32_t first = FirstEffect(changes);
  undo_.clear();
  if (first < rules_.access_count()) GoTo(first);
  for (const PlanChange& change : changes) {
    undo_.push_back({change.access, plan_[change.access]});
    plan_[change.access] = change.action;
  }
  if (first == rules_.access_count()) return false;
  if (Play(changes.back().access, limit)) {
    Accept(first);
  } else {
    for (const PlanChange& change : undo_) plan_[change.access] = change.action;
  }
  return true;
}

uint32_t Incumbent::FirstEffect(absl::Span<const PlanChange> changes) const {
  for (const PlanChange& change : changes) {
    const Step& step = steps_[change.access];
    if (step.legal != 0 && Choose(change.action, step.legal) != step.taken) return change.access;
  }
  return rules_.access_count();
}

void Incumbent::GoTo(uint32_t access) {
  size_t k = access / snapshot_distance_;
  if (valid_snapshots_ <= k) RenewSnapshots(k);
  while (snapshots_[k].access() > access) --k;
  game_ = snapshots_[k];
  while (game_.access() < access) game_.Apply(steps_[game_.access()].taken);
}

void Incumbent::RenewSnapshots(size_t k) {
  game_ = snapshots_[valid_snapshots_ - 1];
  for (; valid_snapshots_ <= k; ++valid_snapshots_) {
    const auto end = static_cast<uint32_t>(valid_snapshots_ * snapshot_distance_);
    while (!game_.finished() && game_.access() < end) game_.Apply(steps_[game_.access()].taken);
    if (valid_snapshots_ < snapshots_.size()) {
      snapshots_[valid_snapshots_] = game_;
    } else {
      snapshots_.push_back(game_);
    }
  }
}

bool Incumbent::Play(uint32_t last_change, double limit) {
  const double rounding = kRounding * rules_.all_hbm_cycles();
  uint32_t filled = game_.access();
  double lead = 0;
  int in_step = 0;
  while (!game_.finished()) {
    const uint32_t a = game_.access();
    for (; filled < a; ++filled) trial_[filled].legal = 0;
    Step& step = trial_[filled++];
    step.cycles = game_.cycles();
    step.legal = game_.legal_actions();
    step.taken = Choose(plan_[a], step.legal);
    const Step& old = steps_[a];
    const double difference = step.cycles - old.cycles;
    const bool same =
        old.legal != 0 && step.taken == old.taken && std::abs(difference - lead) <= rounding;
    in_step = same ? in_step + 1 : 0;
    lead = difference;
    if (in_step >= kDecisionsInStep && a > last_change && cycles_ + difference > limit) {
      return false;
    }
    game_.Apply(step.taken);
  }
  for (; filled < rules_.access_count(); ++filled) trial_[filled].legal = 0;
  return game_.cycles() <= limit;
}

void Incumbent::Accept(uint32_t first) {
  std::copy(trial_.begin() + first, trial_.end(), steps_.begin() + first);
  cycles_ = game_.cycles();
  ++version_;
  in_fast_memory_.assign(game_.in_fast_memory().begin(), game_.in_fast_memory().end());
  valid_snapshots_ = std::min<size_t>(valid_snapshots_, first / snapshot_distance_ + 1);
  while (valid_snapshots_ > 1 && snapshots_[valid_snapshots_ - 1].access() > first) {
    --valid_snapshots_;
  }
}

}  // namespace mallocmuzero
