#include "env/solvers/snapshot_store.h"

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
  return static_cast<uint32_t>(
      std::clamp(std::sqrt(kAcceptedShare * accesses * copy), 8.0, 8192.0));
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

void SnapshotStore::SetFocus(uint32_t first, uint32_t end) {
  focus_first_ = first / distance_;
  focus_end_ = end / distance_ + 1;
  for (size_t k = 1; k < snapshots_.size(); ++k) {
    if (!IsWanted(k)) Drop(k);
  }
}

const SnapshotStore::Snapshot& SnapshotStore::Before(uint32_t access) const {
  size_t k = access / distance_;
  while (snapshots_[k].game == nullptr || (k > 0 && snapshots_[k].game->access() > access)) --k;
  return snapshots_[k];
}

const SnapshotStore::Snapshot* SnapshotStore::At(uint32_t access) const {
  const Snapshot& snapshot = snapshots_[access / distance_];
  return snapshot.game != nullptr && snapshot.game->access() == access ? &snapshot : nullptr;
}

void SnapshotStore::Offer(uint32_t previous, const Game& game, double shift) {
  if (game.finished()) return;
  for (size_t k = previous / distance_ + 1; k <= game.access() / distance_; ++k) {
    Snapshot& snapshot = snapshots_[k];
    if (snapshot.game != nullptr || !IsWanted(k)) continue;
    if (spare_.empty()) {
      snapshot.game = std::make_unique<Game>(game);
    } else {
      snapshot.game = std::move(spare_.back());
      spare_.pop_back();
      *snapshot.game = game;
    }
    snapshot.shift = shift;
  }
}

void SnapshotStore::Change(uint32_t first, uint32_t end, double shift) {
  for (size_t k = std::max<size_t>(1, first / distance_); k < snapshots_.size(); ++k) {
    Snapshot& snapshot = snapshots_[k];
    if (snapshot.game == nullptr || snapshot.game->access() <= first) continue;
    if (snapshot.game->access() < end) {
      Drop(k);
    } else {
      snapshot.shift += shift;
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
