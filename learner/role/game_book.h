// What a learner takes from games besides the rows it trains on.

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

// From an actor's word that it has shown games of a program until one must have been drawn: longer
// than spools wait for shards, and than one actor takes for all programs there are.
inline constexpr absl::Duration kDemonstrationPatience = absl::Hours(1);

// Checks every game before it is learned from, counts each once in its program's baseline, and
// remembers the best. Thread-safe.
class GameBook {
 public:
  // `programs` must outlive it. A follower's baselines are those of another book (RestoreFrom): its
  // own games do not change them. Internal errors of the greedy solver.
  // `ranked_quantile` is that of its baselines.
  static absl::StatusOr<std::unique_ptr<GameBook>> Create(const ProgramSet& programs, bool follows,
                                                          double ranked_quantile = 0);

  // OK if the game may be learned from. NotFound if its program is not in the set, InvalidArgument
  // if it is not a game of it.
  absl::Status Take(const v1::Trajectory& game);

  // Takes what an actor says of evaluation games and demonstrations of the set's programs. Of
  // evaluations the one by the newest weights counts; none by newer ones than `newest_step`, which
  // were lost with an earlier life of the learner. Demonstrations are only on their way then.
  void TakeReport(const v1::ActorReport& report, uint64_t newest_step, absl::Time now);

  // Up to `most` programs, by their index, of which no demonstration has been taken and none is on
  // its way: those from the `first`-th on, around the end. What has not come after
  // kDemonstrationPatience was lost.
  std::vector<uint32_t> Undemonstrated(uint64_t first, size_t most, absl::Time now) const;

  // What to measure values by, of every program, as of the last refresh. Never null.
  std::shared_ptr<const Baselines> baselines() const;

  // Lets baselines() follow the games taken. Programs that were new get theirs at once.
  void Refresh();
  void RefreshNewPrograms();

  // Games that were taken for the first time.
  uint64_t taken() const;

  // Parts of a checkpoint: everything but which games were seen. Programs that the state does not
  // know start anew; what it knows of programs that are not trained on now is saved again as it is,
  // for the day they come back. InvalidArgument, with nothing changed, if the state is of games by
  // other rules.
  void SaveTo(v1::TrainState& state) const;
  absl::Status RestoreFrom(const v1::TrainState& state);

  // The best mapping of each program that has a better one than at the last call.
  absl::Status WriteBestMappings(const RunDirectory& directory);

  // One a program, in the set's order; the means are the caller's.
  std::vector<ProgramStanding> Standings() const;
  std::vector<v1::TrainMetrics::Program> Describe() const;

 private:
  struct Record {
    ProgramProgress progress;
    ReturnBaseline baseline;
    bool has_new_best = false;
    uint64_t refreshed_games = 0;  // that the baseline in use is made of
    uint64_t policy_step = 0;      // of the weights that progress.policy_return is of
    bool demonstrated = false;     // a demonstration was taken
    absl::Time demonstration_due = absl::InfinitePast();  // of what an actor has shown
  };

  // A game by its id, and what its decisions hash to.
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

  // Two generations of so many games: the older one is dropped when the newer one is full.
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  Seen seen_before_ ABSL_GUARDED_BY(mutex_);
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GAME_BOOK_H_
