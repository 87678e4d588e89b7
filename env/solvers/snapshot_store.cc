#include "env/solvers/snapshot_store.h"
#include "base/rounding.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mallocmuzero {
namespace {

// Rough measurements: the bytes of a game that are copied in the time of one decision, and the
// share of tries that are accepted, most of them games of equal cycles.
constexpr double kBytesPerDecision = 5000;
constexpr double kAcceptedShare = 0.15;

// Accesses between snapshots within the focus, at most.
constexpr uint32_t kFocusDistance = 32;

// The distance of snapshots, in accesses, at which tries all over the program take the least time.
// Each try plays half a distance to get from a snapshot to its first change. Each accepted one has
// snapshots taken again, on average those of half the program.
uint32_t SnapshotDistance(uint32_t accesses, size_t game_bytes) {
  const double copy = static_cast<double>(game_bytes) / kBytesPerDecision;
  return RoundToZero(std::clamp(std::sqrt(kAcceptedShare * accesses * copy), 8.0, 8192.0));
}

}  // namespace

SnapshotStore::SnapshotStore(const ProgramRules& rules)
    : accesses_(rules.access_count()), snapshots_(1) {
  snapshots_[0].game = std::make_unique<Game>(rules);
}

void SnapshotStore::Restart(size_t game_bytes) {
  for (size_t k = 1; k < snapshots_.size(); ++k) Drop(k);
  const uint32_t distance = SnapshotDistance(accesses_, game_bytes);
  distance_ = std::min(distance, kFocusDistance);
  places_per_kept_ = distance / distance_;
  snapshots_.resize(accesses_ / distance_ + 1);
}

void SnapshotStore::SetFocus(AccessIndex first, AccessIndex end) {
  focus_first_ = PlaceBefore(first);
  focus_end_ = PlaceBefore(end) + 1;
  for (size_t k = 1; k < snapshots_.size(); ++k) {
    if (!IsWanted(k)) Drop(k);
  }
}

const SnapshotStore::Snapshot& SnapshotStore::Before(AccessIndex access) const {
  size_t k = PlaceBefore(access);
  while (snapshots_[k].game == nullptr || (k > 0 && snapshots_[k].game->access() > access)) --k;
  return snapshots_[k];
}

const SnapshotStore::Snapshot* SnapshotStore::At(AccessIndex access) const {
  const Snapshot& snapshot = snapshots_[PlaceBefore(access)];
  return snapshot.game != nullptr && snapshot.game->access() == access ? &snapshot : nullptr;
}

void SnapshotStore::Offer(AccessIndex previous, const Game& game, double shift) {
  if (game.finished()) return;
  for (size_t k = PlaceBefore(previous) + 1; k <= PlaceBefore(game.access()); ++k) {
    if (snapshots_[k].game == nullptr && IsWanted(k)) Put(snapshots_[k], game, shift);
  }
}

void SnapshotStore::OfferTrial(AccessIndex previous, const Game& game, double shift) {
  if (game.finished()) return;
  for (size_t k = PlaceBefore(previous) + 1; k <= PlaceBefore(game.access()); ++k) {
    if (k % places_per_kept_ != 0) continue;
    trial_.emplace_back(k, Snapshot());
    Put(trial_.back().second, game, shift);
  }
}

void SnapshotStore::AcceptTrial() {
  for (auto& [place, snapshot] : trial_) {
    Drop(place);
    snapshots_[place] = std::move(snapshot);
  }
  trial_.clear();
}

void SnapshotStore::DropTrial() {
  for (auto& [place, snapshot] : trial_) spare_.push_back(std::move(snapshot.game));
  trial_.clear();
}

void SnapshotStore::Put(Snapshot& snapshot, const Game& game, double shift) {
  if (spare_.empty()) {
    snapshot.game = std::make_unique<Game>(game);
  } else {
    snapshot.game = std::move(spare_.back());
    spare_.pop_back();
    *snapshot.game = game;
  }
  snapshot.shift = shift;
  snapshot.taken_after = marks_;
}

void SnapshotStore::Change(AccessIndex first, AccessIndex end, double shift) {
  for (size_t k = std::max<size_t>(1, PlaceBefore(first)); k < snapshots_.size(); ++k) {
    Snapshot& snapshot = snapshots_[k];
    if (snapshot.game == nullptr || snapshot.game->access() <= first) continue;
    if (snapshot.game->access() < end) {
      Drop(k);
    } else {
      snapshot.shift += shift;
    }
  }
}

void SnapshotStore::SetMark(Mark& mark) {
  mark.number = ++marks_;
  mark.shifts.clear();
  for (const Snapshot& snapshot : snapshots_) mark.shifts.push_back(snapshot.shift);
}

// A change drops the snapshots that it makes wrong. So those that were taken before the mark and
// are still here are wrong by their shifts only.
void SnapshotStore::GoBackTo(const Mark& mark) {
  for (size_t k = 1; k < snapshots_.size(); ++k) {
    if (snapshots_[k].taken_after >= mark.number) {
      Drop(k);
    } else {
      snapshots_[k].shift = mark.shifts[k];
    }
  }
}

bool SnapshotStore::IsWanted(size_t place) const {
  return place % places_per_kept_ == 0 || (focus_first_ <= place && place < focus_end_);
}

void SnapshotStore::Drop(size_t place) {
  if (snapshots_[place].game == nullptr) return;
  spare_.push_back(std::move(snapshots_[place].game));
}

}  // namespace mallocmuzero
