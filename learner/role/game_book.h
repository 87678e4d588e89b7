// Checks the games that a learner draws, and keeps the records of their programs.

#ifndef MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
#define MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
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
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

// The longest time between an actor's report of demonstrations and the draw of one of them. It is
// longer than spools wait for shards, and than one actor needs to demonstrate all programs.
inline constexpr absl::Duration kDemonstrationPatience = absl::Hours(1);

// Checks every game before the learner learns from it, adds each game once to its program's
// baseline, and remembers the best games. Thread-safe.
class GameBook {
 public:
  // `programs` must outlive it. A book that `follows` gets its baselines from another book by
  // RestoreFrom; its own games do not change them. `ranked_quantile` is that of the baselines.
  // Internal errors of the greedy solver.
  static absl::StatusOr<std::unique_ptr<GameBook>> Create(const ProgramSet& programs, bool follows,
                                                          double ranked_quantile = 0);

  // Checks a game and adds it to the records. OK if the learner may learn from it. NotFound if its
  // program is not in the set; InvalidArgument if it is not a game of the program.
  absl::Status Accept(const v1::Trajectory& game);

  // Takes an actor's report of evaluation games and demonstrations. The evaluation by the newest
  // weights counts. Evaluations by newer weights than `newest_step` do not count: such weights were
  // lost when the learner restarted. A reported demonstration is on its way, but not yet taken.
  void AcceptReport(const v1::ActorReport& report, uint64_t newest_step, absl::Time now);

  // Up to `most` indices of programs that have no demonstration, neither taken nor on its way. The
  // list begins with the `first`-th of them and wraps around. A demonstration that has not come
  // after kDemonstrationPatience is lost.
  std::vector<uint32_t> Undemonstrated(uint64_t first, size_t most, absl::Time now) const;

  // The baselines of all programs at the last refresh. Never null.
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

  // Converts to the parts of a checkpoint and back, without the set of games seen and without
  // earlier baselines. Programs that the state does not have start anew. The state of programs that
  // are not in the set is kept and saved again, as a later run may train on them. InvalidArgument,
  // with nothing changed, if the games of the state were played by other rules.
  void SaveTo(v1::TrainState& state) const;
  absl::Status RestoreFrom(const v1::TrainState& state);

  // Writes the best mapping of each program that has a better one than at the last call.
  absl::Status WriteBestMappings(const RunDirectory& directory);

  // One entry for each program, in the set's order. Mean returns are those of the games taken.
  std::vector<ProgramStanding> Standings() const;
  std::vector<v1::TrainMetrics::Program> Describe() const;

 private:
  // Notes on one program, besides its record.
  struct Notes {
    uint64_t refreshed_games = 0;  // number of games in the baseline in use
    uint64_t policy_step = 0;      // step of the weights that the record's policy_return is of
    bool demonstrated = false;     // a demonstration was taken
    absl::Time demonstration_due = absl::InfinitePast();  // when a reported one counts as lost
  };

  // The two halves of a game's id; and the hash of its decisions by that id.
  using Id = std::pair<uint64_t, uint64_t>;
  using Seen = absl::flat_hash_map<Id, size_t>;

  GameBook(const ProgramSet& programs, ProgramRecords records, bool follows);

  bool IsKnown(const Id& id, size_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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

  // Two generations of games: the older one is dropped when the newer one is full.
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  Seen seen_before_ ABSL_GUARDED_BY(mutex_);
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
