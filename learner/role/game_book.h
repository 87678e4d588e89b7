// The learner's record of the drawn games: baselines, best games, evaluations and demonstrations.

#ifndef MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
#define MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/curriculum.h"
#include "learner/program_records.h"
#include "learner/role/baseline_history.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/drawn_position.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// The time after an actor's report of demonstrations within which the learner must have drawn one
// of them. It exceeds the time that spools wait for shards and that one actor needs for all
// programs.
inline constexpr absl::Duration kDemonstrationPatience = absl::Hours(1);

// Checks every game before it is learned from, adds each once to its program's baseline, and keeps
// the best game of each program. Thread-safe.
class GameBook {
 public:
  // `programs` must outlive the book. If `follows`, the baselines come from another process's book
  // by RestoreFrom and the games taken do not change them. `ranked_quantile` is passed to the
  // baselines. Returns the greedy solver's errors, which are Internal.
  static absl::StatusOr<std::unique_ptr<GameBook>> Create(const ProgramSet& programs, bool follows,
                                                          double ranked_quantile = 0);

  // Checks a game and adds it to the records. A restored record has the games of networks from
  // before its step in its baseline, so these do not change the baseline again. OK if the learner
  // may learn from it. NotFound if its program is not in the set; InvalidArgument if it is not a
  // game of the program.
  absl::Status Accept(const v1::Trajectory& game);

  // Takes an actor's report of demonstrations. A reported demonstration is on its way, but not yet
  // taken.
  void AcceptReport(const v1::ActorReport& report, absl::Time now);

  // Sets the mean return of a program's evaluation games.
  void SetPolicyReturn(size_t program, HbmShare policy_return);

  // Adds the best games of programs to the answer to an actor's report, if the actor knows no game
  // of the program that brings as much. If the games take more than `most_bytes`, adds only the
  // first of them; the others follow once the actor reports these.
  void AddBestGames(const v1::ActorReport& report, size_t most_bytes,
                    v1::ActorOrders& orders) const;

  // Returns the indices of up to `most` programs of which no demonstration was taken and none is on
  // its way. Begins at the `first`-th of them, modulo their number, and wraps around. A
  // demonstration that has not arrived within kDemonstrationPatience counts as lost.
  std::vector<uint32_t> Undemonstrated(uint64_t first, size_t most, absl::Time now) const;

  // The baselines of all programs, by which values are normalized, as of the last refresh. Never
  // null.
  std::shared_ptr<const Baselines> baselines() const;

  // Updates baselines() by the games taken: of all programs, after `step` updates of the networks;
  // or only of programs with few games.
  void Refresh(uint64_t step);
  void RefreshNewPrograms();

  // The game with searched_returns, converted from its root_values by the baselines that were in
  // force when its network was trained. The same game if it has them, or has none to convert.
  SharedTrajectory WithSearchedReturns(const SharedTrajectory& game) const;

  // The number of distinct games taken.
  uint64_t taken() const;

  // Save the book to a checkpoint and restore it, except for the set of games seen. In its place
  // the state's step tells which games the baselines have: those of networks from before it. Such a
  // game that is first drawn after the restart is left out of its baseline. A game that was
  // searched again by a later network counts again. Programs that are not in the state keep their
  // fresh records. Programs of the state that are not trained on now are kept and saved again, so
  // that a later run can continue them. RestoreFrom returns InvalidArgument and changes nothing if
  // the state is of games by other rules, or if the record of a program is damaged, which the error
  // names.
  void SaveTo(v1::TrainState& state) const;
  absl::Status RestoreFrom(const v1::TrainState& state);

  // Writes the best mapping of each program whose best game has changed since the last successful
  // call. After an error the remaining ones are written by the next call.
  absl::Status WriteBestMappings(const RunDirectory& directory);

  // How well each program is played, in the set's order. The caller must fill in the mean returns.
  std::vector<ProgramStanding> Standings() const;

  // ProgramRecords::Describe.
  std::vector<v1::TrainMetrics::Program> Describe(
      absl::Span<const std::optional<HbmShare>> mean_returns = {}) const;

 private:
  // Notes on one program, besides its record.
  struct Notes {
    uint64_t refreshed_games = 0;                         // number of games in the baseline in use
    uint64_t counted_before = 0;                          // see AddsToBaseline
    bool demonstrated = false;                            // a demonstration was taken
    absl::Time demonstration_due = absl::InfinitePast();  // for a reported demonstration
  };

  // Games seen: the two halves of an id, and a hash of the game's decisions and rewards.
  using Id = std::pair<uint64_t, uint64_t>;
  using Seen = absl::flat_hash_map<Id, size_t>;

  GameBook(const ProgramSet& programs, ProgramRecords records, bool follows);

  bool IsKnown(const Id& id, size_t hash) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether the baseline does not have the game yet. A restored program's baseline has all games of
  // networks from before Notes::counted_before updates.
  bool AddsToBaseline(const v1::Trajectory& game) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void RefreshRecord(size_t p) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishBaselines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProgramSet& programs_;
  const bool follows_;
  mutable absl::Mutex mutex_;
  ProgramRecords records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Notes> notes_ ABSL_GUARDED_BY(mutex_);                     // by program
  std::vector<v1::TrainState::Program> others_ ABSL_GUARDED_BY(mutex_);  // not trained on now
  std::shared_ptr<const Baselines> baselines_ ABSL_GUARDED_BY(mutex_);
  BaselineHistory history_ ABSL_GUARDED_BY(mutex_);
  uint64_t step_ ABSL_GUARDED_BY(mutex_) = 0;  // updates of the networks at the last refresh

  // Two generations of games seen. When the newer one is full, it replaces the older one.
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  Seen seen_before_ ABSL_GUARDED_BY(mutex_);
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
