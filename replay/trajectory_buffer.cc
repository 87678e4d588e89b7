#include "replay/trajectory_buffer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "replay/priority.h"

namespace mallocmuzero {
namespace {

// Lower priorities count as this one, so that every position can be drawn.
constexpr double kLeastPriority = 1e-6;

std::string Key(absl::string_view bytes) { return std::string(bytes.data(), bytes.size()); }

// Ids break ties, so that the result does not depend on the order in which games arrived.
bool IsBetter(const SharedTrajectory& a, const SharedTrajectory& b) {
  const HbmShare of_a = TotalReturn(*a);
  const HbmShare of_b = TotalReturn(*b);
  return of_a > of_b || (of_a == of_b && a->id() < b->id());
}

}  // namespace

HbmShare TotalReturn(const v1::Trajectory& trajectory) {
  return HbmShare(std::accumulate(trajectory.rewards().begin(), trajectory.rewards().end(),
                                  trajectory.initial_return()));
}

size_t OwnDecisions(const v1::Trajectory& trajectory) {
  if (!trajectory.has_window()) return trajectory.actions().size();
  return trajectory.window().end() - trajectory.window().begin();
}

TrajectoryBuffer::TrajectoryBuffer(const v1::ReplayOptions& options)
    : options_(options),
      weights_(options.max_decisions()),
      priorities_(options.max_decisions(), 0),
      slot_game_(options.max_decisions(), 0) {}

size_t TrajectoryBuffer::Slot(const Game& game, uint32_t position) const {
  return (game.first_slot + position) % priorities_.size();
}

const TrajectoryBuffer::Game* TrajectoryBuffer::Find(uint64_t serial) const {
  if (games_.empty() || serial < games_.front().serial) return nullptr;
  const uint64_t index = serial - games_.front().serial;
  return index < games_.size() ? &games_[index] : nullptr;
}

double TrajectoryBuffer::WeightOf(double priority) const {
  return std::pow(std::max(priority, kLeastPriority), options_.priority_exponent());
}

bool TrajectoryBuffer::Insert(SharedTrajectory trajectory) {
  const size_t length = trajectory->actions().size();
  const size_t bytes = trajectory->ByteSizeLong();
  assert(length > 0);
  if (length > options_.max_decisions() || bytes > options_.max_bytes()) return false;
  if (!serial_of_id_.try_emplace(trajectory->id(), next_serial_).second) return false;
  while (decisions_ + length > options_.max_decisions() || bytes_ + bytes > options_.max_bytes()) {
    EvictOldest();
  }
  RememberIfBest(trajectory);
  Append(std::move(trajectory), bytes, highest_priority_);
  return true;
}

void TrajectoryBuffer::Append(SharedTrajectory trajectory, size_t bytes, double priority) {
  const size_t length = trajectory->actions().size();
  const Game game = {.trajectory = std::move(trajectory),
                     .serial = next_serial_++,
                     .first_slot = next_slot_,
                     .bytes = bytes};
  for (uint32_t position = 0; position < length; ++position) {
    const size_t slot = Slot(game, position);
    slot_game_[slot] = game.serial;
    Store(slot, priority);
  }
  next_slot_ = Slot(game, length);
  decisions_ += length;
  bytes_ += bytes;
  games_.push_back(game);
}

bool TrajectoryBuffer::AppendAgain(const SharedTrajectory& trajectory,
                                   absl::Span<const double> priorities) {
  if (!serial_of_id_.try_emplace(trajectory->id(), next_serial_).second) return false;
  Append(trajectory, trajectory->ByteSizeLong(), highest_priority_);
  for (uint32_t position = 0; position < priorities.size(); ++position) {
    if (IsPriority(priorities[position]))
      Store(Slot(games_.back(), position), priorities[position]);
  }
  return true;
}

void TrajectoryBuffer::EvictOldest() {
  const Game& game = games_.front();
  const size_t length = game.trajectory->actions().size();
  for (uint32_t position = 0; position < length; ++position) weights_.Set(Slot(game, position), 0);
  decisions_ -= length;
  bytes_ -= game.bytes;
  serial_of_id_.erase(game.trajectory->id());
  games_.pop_front();
}

void TrajectoryBuffer::RememberIfBest(const SharedTrajectory& trajectory) {
  std::vector<SharedTrajectory>& best = best_[trajectory->program_sha256()];
  for (const SharedTrajectory& known : best) {
    if (known->actions() == trajectory->actions()) return;
  }
  const auto place = std::lower_bound(best.begin(), best.end(), trajectory, IsBetter);
  best.insert(place, trajectory);
  if (best.size() > options_.best_games()) best.pop_back();
}

bool TrajectoryBuffer::Replace(SharedTrajectory trajectory) {
  const auto found = serial_of_id_.find(trajectory->id());
  if (found == serial_of_id_.end()) return false;
  Game& game = games_[found->second - games_.front().serial];
  if (game.trajectory->actions() != trajectory->actions()) return false;
  for (SharedTrajectory& best : best_[trajectory->program_sha256()]) {
    if (best == game.trajectory) best = trajectory;
  }
  bytes_ -= game.bytes;
  game.bytes = trajectory->ByteSizeLong();
  bytes_ += game.bytes;
  game.trajectory = std::move(trajectory);
  return true;
}

std::vector<DrawnPosition> TrajectoryBuffer::Draw(size_t count, std::mt19937_64& random) const {
  std::vector<DrawnPosition> drawn;
  if (games_.empty()) return drawn;
  drawn.reserve(count);
  std::uniform_real_distribution<double> point(0, weights_.total());
  for (size_t i = 0; i < count; ++i) {
    const size_t slot = weights_.Find(point(random));
    const Game& game = *Find(slot_game_[slot]);
    const uint32_t position = (slot + priorities_.size() - game.first_slot) % priorities_.size();
    drawn.push_back({.trajectory = game.trajectory,
                     .position = position,
                     .probability = weights_.weight(slot) / weights_.total(),
                     .serial = game.serial});
  }
  return drawn;
}

std::vector<DrawnPosition> TrajectoryBuffer::DrawBest(size_t count, std::mt19937_64& random) const {
  std::vector<DrawnPosition> drawn;
  if (best_.empty()) return drawn;
  drawn.reserve(count);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (size_t i = 0; i < count; ++i) {
    const std::vector<SharedTrajectory>& best =
        std::next(best_.begin(), below(best_.size()))->second;
    const SharedTrajectory& game = best[below(best.size())];
    const size_t length = game->actions().size();
    const uint32_t position = below(length);
    drawn.push_back({.trajectory = game,
                     .position = position,
                     .probability = 1.0 / static_cast<double>(best_.size() * best.size() * length),
                     .serial = UINT64_MAX});
  }
  return drawn;
}

void TrajectoryBuffer::SetPriority(const PositionKey& key, double priority) {
  const Game* game = Find(key.serial);
  // A network may predict NaN, and a single NaN in the tree would spoil its sums for good.
  if (game == nullptr || !IsPriority(priority)) return;
  highest_priority_ = HighestOfLate(highest_priority_, priority);
  Store(Slot(*game, key.position), priority);
}

void TrajectoryBuffer::Store(size_t slot, double priority) {
  priorities_[slot] = priority;
  weights_.Set(slot, WeightOf(priority));
}

double TrajectoryBuffer::priority(const PositionKey& key) const {
  const Game* game = Find(key.serial);
  return game == nullptr ? 0 : priorities_[Slot(*game, key.position)];
}

v1::ReplayState TrajectoryBuffer::Save() const {
  v1::ReplayState state;
  state.set_first_slot(games_.empty() ? next_slot_ : games_.front().first_slot);
  for (const Game& game : games_) {
    for (uint32_t position = 0; position < game.trajectory->actions().size(); ++position) {
      state.add_priorities(priorities_[Slot(game, position)]);
    }
  }
  state.set_highest_priority(highest_priority_);
  state.set_inserted_games(next_serial_);
  state.set_latest_games(games_.size());
  return state;
}

std::vector<SharedTrajectory> TrajectoryBuffer::SavedGames() const {
  std::vector<SharedTrajectory> saved;
  for (const Game& game : games_) saved.push_back(game.trajectory);
  for (const auto& [program, best] : best_) {
    for (const SharedTrajectory& game : best) {
      if (!serial_of_id_.contains(game->id())) saved.push_back(game);
    }
  }
  return saved;
}

absl::Status TrajectoryBuffer::Restore(const v1::ReplayState& state,
                                       absl::Span<const SharedTrajectory> games) {
  assert(games_.empty());
  const auto fail = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("stored games: ", what));
  };
  if (games.size() < state.latest_games() || state.inserted_games() < state.latest_games()) {
    return fail("fewer than the checkpoint says");
  }
  const absl::Span<const SharedTrajectory> latest = games.first(state.latest_games());
  // Best games that have left the latest ones were inserted before these, so they go first:
  // RememberIfBest keeps the earlier of two games with the same decisions.
  for (const SharedTrajectory& game : games.subspan(latest.size())) RememberIfBest(game);
  for (const SharedTrajectory& game : latest) RememberIfBest(game);
  next_serial_ = state.inserted_games() - latest.size();
  next_slot_ = state.first_slot() < priorities_.size() ? state.first_slot() : 0;
  if (IsPriority(state.highest_priority())) highest_priority_ = state.highest_priority();
  size_t left = 0;
  for (const SharedTrajectory& game : latest) left += game->actions().size();
  absl::Span<const double> priorities = state.priorities();
  for (const SharedTrajectory& game : latest) {
    const size_t length = game->actions().size();
    if (length == 0 || length > priorities.size()) {
      return fail("a game is empty or has no priorities");
    }
    if (left > priorities_.size()) {
      // The saved buffer was larger than this one; its oldest games do not fit.
      ++next_serial_;
    } else if (!AppendAgain(game, priorities.first(length))) {
      return fail("a game is there twice");
    }
    left -= length;
    priorities.remove_prefix(length);
  }
  return absl::OkStatus();
}

absl::Span<const SharedTrajectory> TrajectoryBuffer::BestGames(
    absl::string_view program_sha256) const {
  const auto found = best_.find(Key(program_sha256));
  if (found == best_.end()) return {};
  return found->second;
}

}  // namespace mallocmuzero
