// The learner's record of the drawn games: baselines, best games, evaluations and demonstrations.

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
#include "learner/program_progress.h"
#include "learner/role/curriculum.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

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

  // Takes a game in. OK if it may be learned from, NotFound if its program is not in the set,
  // InvalidArgument if it is not a valid game of the program.
  absl::Status Take(const v1::Trajectory& game);

  // Takes in an actor's report of evaluation games and demonstrations. The evaluation by the newest
  // weights counts. Evaluations by weights newer than `newest_step` are ignored: these weights were
  // lost when the learner was restarted. A reported demonstration counts as being on its way until
  // Take gets it.
  void TakeReport(const v1::ActorReport& report, uint64_t newest_step, absl::Time now);

  // Returns the indices of up to `most` programs of which no demonstration was taken and none is on
  // its way. Begins at the `first`-th of them, modulo their number, and wraps around. A
  // demonstration that has not arrived within kDemonstrationPatience counts as lost.
  std::vector<uint32_t> Undemonstrated(uint64_t first, size_t most, absl::Time now) const;

  // The baselines of all programs, by which values are normalized, as of the last refresh. Never
  // null.
  std::shared_ptr<const Baselines> baselines() const;

  // Refresh updates baselines() by the games taken. RefreshNewPrograms does so only for programs
  // whose baseline has fewer than 32 games; such programs may be refreshed at any time.
  void Refresh();
  void RefreshNewPrograms();

  // The number of different games taken.
  uint64_t taken() const;

  // Save the book to a checkpoint and restore it, except for the set of games seen. Programs that
  // are not in the state keep their fresh records. Programs of the state that are not trained on
  // now are kept and saved again, so that a later run can continue them. RestoreFrom returns
  // InvalidArgument and changes nothing if the state is of games by other rules.
  void SaveTo(v1::TrainState& state) const;
  absl::Status RestoreFrom(const v1::TrainState& state);

  // Writes the best mapping of each program whose best game has changed since the last successful
  // call. After an error the remaining ones are written by the next call.
  absl::Status WriteBestMappings(const RunDirectory& directory);

  // One entry for each program, in the set's order. The caller must fill in the mean returns.
  std::vector<ProgramStanding> Standings() const;
  std::vector<v1::TrainMetrics::Program> Describe() const;

 private:
  struct Record {
    ProgramProgress progress;
    ReturnBaseline baseline;
    bool has_new_best = false;
    uint64_t refreshed_games = 0;  // number of games in the baseline in use
    uint64_t policy_step = 0;      // of the weights that reached progress.policy_return
    bool demonstrated = false;     // a demonstration was taken
    absl::Time demonstration_due = absl::InfinitePast();  // for a reported demonstration
  };

  // Games seen: the two halves of an id, and a hash of the game's decisions.
  using Id = std::pair<uint64_t, uint64_t>;
  using Seen = absl::flat_hash_map<Id, size_t>;

  GameBook(const ProgramSet& programs, std::vector<ProgramProgress> progress, bool follows,
           double ranked_quantile);

  bool IsKnown(const Id& id, size_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefreshRecord(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishBaselines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProgramSet& programs_;
  const bool follows_;
  mutable absl::Mutex mutex_;
  std::vector<Record> records_ ABSL_GUARDED_BY(mutex_);                  // by program
  std::vector<v1::TrainState::Program> others_ ABSL_GUARDED_BY(mutex_);  // not trained on now
  std::shared_ptr<const Baselines> baselines_ ABSL_GUARDED_BY(mutex_);

  // Two generations of games seen. When the newer one is full, it replaces the older one.
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  Seen seen_before_ ABSL_GUARDED_BY(mutex_);
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
