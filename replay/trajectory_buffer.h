// The games a learner draws from: the latest ones, and the best of each program.

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
#include "replay/return_units.h"
#include "replay/sum_tree.h"

namespace mallocmuzero {

using SharedTrajectory = std::shared_ptr<const v1::Trajectory>;

// What a game brought.
HbmShare TotalReturn(const v1::Trajectory& trajectory);

// A decision of a stored game. `serial` is that of the insert: a name that is never used again.
struct PositionKey {
  uint64_t serial = 0;
  uint32_t position = 0;
};

struct DrawnPosition {
  SharedTrajectory trajectory;
  PositionKey key;

  // With which this position was drawn, in one draw.
  double probability = 0;
};

// Bounded in decisions and in bytes; the oldest games leave first. Not thread-safe.
class TrajectoryBuffer {
 public:
  explicit TrajectoryBuffer(const v1::ReplayOptions& options);

  // Adds a game of at least one decision; its positions get the highest priority of late.
  // False, and no change, if a game of that id is here, or if it alone is above the bounds.
  bool Insert(SharedTrajectory trajectory);

  // Puts a game searched again in the place of the one with the same id; priorities stay. False if
  // that one has left, or if the decisions are not the same.
  bool Replace(SharedTrajectory trajectory);

  // Independent draws, with replacement, in proportion to priority ^ priority_exponent. Empty if
  // there are no games.
  std::vector<DrawnPosition> Draw(size_t count, std::mt19937_64& random) const;

  // Independent draws: a program, then one of its best games, then a position, all uniform.
  std::vector<DrawnPosition> DrawBest(size_t count, std::mt19937_64& random) const;

  // What a learner was surprised by: |value - outcome|. A position that has left is ignored, and so
  // is a priority that is negative or not finite.
  void SetPriority(const PositionKey& key, double priority);
  double priority(const PositionKey& key) const;  // 0 if it has left

  size_t games() const { return games_.size(); }
  size_t decisions() const { return decisions_; }
  size_t bytes() const { return bytes_; }  // of the games as they are saved

  // Games ever inserted, decisions likewise.
  uint64_t inserted_games() const { return next_serial_; }
  uint64_t inserted_decisions() const { return inserted_decisions_; }

  // Oldest first. Valid until the next change.
  SharedTrajectory game(size_t index) const { return games_[index].trajectory; }
  uint64_t serial(size_t index) const { return games_[index].serial; }

  // What it takes to go on with the same draws, and the games in the order it says.
  v1::ReplayState Save() const;
  std::vector<SharedTrajectory> SavedGames() const;

  // Fills an empty buffer, which goes on exactly if its options are the same. If it has room for
  // fewer decisions, the oldest games stay away. InvalidArgument if the two do not fit together;
  // the buffer is then of no use.
  absl::Status Restore(const v1::ReplayState& state, absl::Span<const SharedTrajectory> games);

  // The best games of a program (SHA-256), highest return first; empty if there is none.
  absl::Span<const SharedTrajectory> BestGames(absl::string_view program_sha256) const;

 private:
  struct Game {
    SharedTrajectory trajectory;
    uint64_t serial = 0;
    size_t first_slot = 0;  // of its positions, which go on from slot 0 behind the last one
    size_t bytes = 0;
  };

  size_t Slot(const Game& game, uint32_t position) const;
  void Append(SharedTrajectory trajectory, size_t bytes, double priority);

  // A saved game, with its priorities; false if its id is here.
  bool AppendAgain(const SharedTrajectory& trajectory, absl::Span<const double> priorities);
  void Store(size_t slot, double priority);
  const Game* Find(uint64_t serial) const;
  void EvictOldest();
  void RememberIfBest(const SharedTrajectory& trajectory);
  double WeightOf(double priority) const;

  v1::ReplayOptions options_;
  SumTree weights_;                  // by slot
  std::vector<double> priorities_;   // by slot
  std::vector<uint64_t> slot_game_;  // serial, by slot
  std::deque<Game> games_;           // serials ascend, without gaps
  absl::flat_hash_map<std::string, uint64_t> serial_of_id_;
  std::map<std::string, std::vector<SharedTrajectory>, std::less<>> best_;  // by program
  size_t next_slot_ = 0;
  size_t decisions_ = 0;
  size_t bytes_ = 0;
  uint64_t next_serial_ = 0;
  uint64_t inserted_decisions_ = 0;
  double highest_priority_ = 1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_TRAJECTORY_BUFFER_H_
