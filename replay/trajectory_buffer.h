// The games that a learner draws from: the latest ones, and the best ones of each program.

#ifndef MALLOCMUZERO_REPLAY_TRAJECTORY_BUFFER_H_
#define MALLOCMUZERO_REPLAY_TRAJECTORY_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/drawn_position.h"
#include "replay/return_units.h"
#include "replay/sum_tree.h"

namespace mallocmuzero {

// What a game brought.
HbmShare TotalReturn(const v1::Trajectory& trajectory);

// The number of decisions that the player took: those of the window, or all if there is none.
size_t OwnDecisions(const v1::Trajectory& trajectory);

// Names a decision of a stored game. `serial` numbers the inserts from 0 and is never used again.
struct PositionKey {
  uint64_t serial = 0;
  uint32_t position = 0;
};

// Holds at most options.max_decisions() decisions and options.max_bytes() bytes; the oldest games
// leave first. Also keeps the best games of each program, options.best_games() of them, even after
// they have left the latest ones. Not thread-safe.
class TrajectoryBuffer {
 public:
  // `options` must be valid, with max_decisions above 0.
  explicit TrajectoryBuffer(const v1::ReplayOptions& options);

  // Adds a game, which must have at least one decision. Its positions get the recent highest
  // priority (replay/priority.h). Returns false and changes nothing if a game of the same id is
  // stored or if this game alone exceeds the bounds.
  bool Insert(SharedTrajectory trajectory);

  // Puts a game that was searched again in the place of the stored game with the same id.
  // Priorities stay. Returns false and changes nothing if that game has left or has other
  // decisions.
  bool Replace(SharedTrajectory trajectory);

  // Makes `count` independent draws, with replacement, with probabilities in proportion to priority
  // ^ priority_exponent. Returns nothing if there are no games.
  std::vector<DrawnPosition> Draw(size_t count, std::mt19937_64& random) const;

  // Makes `count` independent draws, each of a program, then of one of its best games, then of one
  // of its positions, all uniform. Returns nothing if there are no games. SetPriority ignores the
  // keys of these draws.
  std::vector<DrawnPosition> DrawBest(size_t count, std::mt19937_64& random) const;

  // Sets a position's priority, the learner's error |value - outcome|. Does nothing if the game has
  // left, or if `priority` is negative or not finite.
  void SetPriority(const PositionKey& key, double priority);
  double priority(const PositionKey& key) const;  // 0 if the game has left

  // The number of the latest games, and of their decisions.
  size_t games() const { return games_.size(); }
  size_t decisions() const { return decisions_; }
  size_t bytes() const { return bytes_; }  // of the latest games, serialized

  // The games inserted since the run began.
  uint64_t inserted_games() const { return next_serial_; }

  // The latest games by age, oldest first. Indices are valid until the next change.
  SharedTrajectory game(size_t index) const { return games_[index].trajectory; }
  uint64_t serial(size_t index) const { return games_[index].serial; }

  // The state and the games from which Restore continues with the same draws. SavedGames lists the
  // latest games first, oldest of them first, then the best games that are no longer among them.
  v1::ReplayState Save() const;
  std::vector<SharedTrajectory> SavedGames() const;

  // Fills an empty buffer from Save and SavedGames. With the same options it continues exactly. If
  // the buffer holds fewer decisions than the saved one, the oldest games are left out.
  // InvalidArgument if `state` and `games` do not fit together; the buffer must not be used then.
  absl::Status Restore(const v1::ReplayState& state, absl::Span<const SharedTrajectory> games);

  // The best games of a program, named by its SHA-256 (32 bytes), highest return first; empty if
  // there is none. Valid until the next change.
  absl::Span<const SharedTrajectory> BestGames(absl::string_view program_sha256) const;

 private:
  struct Game {
    SharedTrajectory trajectory;
    uint64_t serial = 0;
    size_t first_slot = 0;  // of its positions, which continue at slot 0 after the last slot
    size_t bytes = 0;
  };

  size_t Slot(const Game& game, uint32_t position) const;
  void Append(SharedTrajectory trajectory, size_t bytes, double priority);

  // Appends a saved game with its saved priorities. Returns false if a game of its id is stored.
  bool AppendAgain(const SharedTrajectory& trajectory, absl::Span<const double> priorities);
  void Store(size_t slot, double priority);
  const Game* Find(uint64_t serial) const;
  void EvictOldest();
  void RememberIfBest(const SharedTrajectory& trajectory);
  double WeightOf(double priority) const;

  v1::ReplayOptions options_;
  SumTree weights_;                  // by slot
  std::vector<double> priorities_;   // by slot
  std::vector<uint64_t> slot_game_;  // serial of the slot's game, by slot
  std::deque<Game> games_;           // serials ascend without gaps
  absl::flat_hash_map<std::string, uint64_t> serial_of_id_;
  std::map<std::string, std::vector<SharedTrajectory>, std::less<>> best_;  // by program
  size_t next_slot_ = 0;
  size_t decisions_ = 0;
  size_t bytes_ = 0;
  uint64_t next_serial_ = 0;
  double highest_priority_ = 1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_TRAJECTORY_BUFFER_H_
