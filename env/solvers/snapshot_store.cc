#include "env/solvers/snapshot_store.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/rounding.h"

namespace mallocmuzero {
namespace {

// Rough measurements: the bytes of a game that are copied in the time of one decision, and the
// share of tries that are accepted, most of them games of equal cycles.
constexpr double kBytesPerDecision = 20'000;
constexpr double kAcceptedShare = 0.15;

// Accesses between snapshots for parts of games, at least, and the bytes that all of them may take.
// Tries end only at snapshots, and decisions are compared before they end.
constexpr uint32_t kLeastDistance = 32;
constexpr double kMostBytes = 1 << 26;

constexpr size_t kMostChanged = 64;  // entries

// The distance of snapshots, in accesses, at which tries all over the program take the least time.
// Each try plays half a distance to get from a snapshot to its first change. Each accepted one has
// snapshots taken again, on average those of half the program.
uint32_t DistanceForWholeGames(uint32_t accesses, size_t game_bytes) {
  const double copy = static_cast<double>(game_bytes) / kBytesPerDecision;
  return RoundToZero(std::clamp(std::sqrt(kAcceptedShare * accesses * copy), 8.0, 8192.0));
}

// Each accepted try has the snapshots taken again that are near its changes.
uint32_t DistanceForParts(uint32_t accesses, size_t game_bytes) {
  const double distance =
      static_cast<double>(accesses) * static_cast<double>(game_bytes) / kMostBytes;
  return std::max<int64_t>(kLeastDistance, RoundToZero(distance));
}

}  // namespace

SnapshotStore::SnapshotStore(const ProgramRules& rules)
    : accesses_(rules.access_count()), snapshots_(1) {
  snapshots_[0].game = std::make_unique<Game>(rules);
}

void SnapshotStore::Restart(size_t game_bytes, Use use) {
  for (size_t k = 1; k < snapshots_.size(); ++k) Drop(k);
  distance_ = use == Use::kParts ? DistanceForParts(accesses_, game_bytes)
                                 : DistanceForWholeGames(accesses_, game_bytes);
  snapshots_.resize(accesses_ / distance_ + 1);
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

AccessIndex SnapshotStore::NextEmpty(AccessIndex access, AccessIndex end) const {
  for (size_t k = PlaceBefore(access) + 1; k < snapshots_.size(); ++k) {
    const AccessIndex place(k * distance_);
    if (place >= end) break;
    if (snapshots_[k].game == nullptr) return place;
  }
  return end;
}

void SnapshotStore::Offer(AccessIndex previous, const Game& game, double shift) {
  if (game.finished()) return;
  for (size_t k = PlaceBefore(previous) + 1; k <= PlaceBefore(game.access()); ++k) {
    if (snapshots_[k].game == nullptr) Put(snapshots_[k], game, shift);
  }
}

void SnapshotStore::OfferTrial(AccessIndex previous, const Game& game, double shift) {
  if (game.finished()) return;
  for (size_t k = PlaceBefore(previous) + 1; k <= PlaceBefore(game.access()); ++k) {
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
  NoteChange(first);
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

void SnapshotStore::NoteChange(AccessIndex first) {
  if (!changed_.empty() && changed_.back().after == marks_) {
    changed_.back().first = std::min(changed_.back().first, first);
    return;
  }
  changed_.push_back({.after = marks_, .first = first});
  if (changed_.size() <= kMostChanged) return;
  changed_[1].first = std::min(changed_[0].first, changed_[1].first);
  changed_.erase(changed_.begin());
}

// A change drops the snapshots that it makes wrong. So those that were taken before the mark and
// are still here are wrong by their shifts only. Snapshots that were taken later are right up to
// the first change since.
void SnapshotStore::GoBackTo(const Mark& mark) {
  AccessIndex first_change = std::numeric_limits<int32_t>::max();
  for (const Changed& changed : changed_) {
    if (changed.after >= mark.number) first_change = std::min(first_change, changed.first);
  }
  for (size_t k = 1; k < snapshots_.size(); ++k) {
    Snapshot& snapshot = snapshots_[k];
    if (snapshot.game == nullptr) continue;
    if (snapshot.taken_after < mark.number) {
      snapshot.shift = mark.shifts[k];
    } else if (snapshot.game->access() > first_change) {
      Drop(k);
    }
  }
}

void SnapshotStore::Drop(size_t place) {
  if (snapshots_[place].game == nullptr) return;
  spare_.push_back(std::move(snapshots_[place].game));
}

}  // namespace mallocmuzero
