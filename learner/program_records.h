// The records of all programs of a run: their best games and their baselines.

#ifndef MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_
#define MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/curriculum.h"
#include "learner/program_progress.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// The player's name if the agent has played the best game.
inline constexpr char kAgentPlayer[] = "agent";

// A program with a new best game, whose mapping is to be written.
struct ImprovedProgram {
  size_t index = 0;  // in the set
  ProgramProgress progress;
};

// Writes the mappings of programs and removes them from `improved`. An error names a file; the
// programs that are then left in `improved` were not written.
absl::Status WriteBestMappings(const RunDirectory& directory,
                               std::vector<ImprovedProgram>& improved);

// InvalidArgument if a run's games were played by other rules than those of this build. A state
// without a version of the rules is taken for one of the present rules.
absl::Status CheckRules(const v1::TrainState& state);

// One record for each program, by its index in the set. Thread-compatible.
class ProgramRecords {
 public:
  // `programs` must outlive it. `ranked_quantile` is that of the baselines. Internal errors of the
  // greedy solver.
  static absl::StatusOr<ProgramRecords> Create(const ProgramSet& programs, double ranked_quantile);

  const std::vector<ProgramProgress>& progress() const { return progress_; }
  const Baselines& baselines() const { return baselines_; }
  const ReturnBaseline& baseline(size_t p) const;

  // Remembers the game if it is the best of its program. It must be a whole game of a program of
  // the set.
  void NoteGame(const v1::Trajectory& game, const std::string& player);

  // Adds a game to the baseline of its program, whose numbers change at the next Refresh.
  void AddToBaseline(const v1::Trajectory& game);
  void Refresh();
  void Refresh(size_t p);

  // Sets the policy's return at the last evaluation.
  void SetPolicyReturn(size_t p, HbmShare policy_return) {
    progress_[p].policy_return = policy_return;
  }

  // The programs that have a better game than at the last call. The caller puts back those whose
  // mappings it could not write.
  std::vector<ImprovedProgram> TakeImproved();
  void PutBackImproved(absl::Span<const ImprovedProgram> left);

  // How well each program is played, for ProgramWeights. Mean returns are those of the baselines.
  std::vector<ProgramStanding> Standings() const;

  // The entries of the programs in a line of metrics. `mean_returns` has that of recent games for
  // each program that has any; it is empty if no program has.
  std::vector<v1::TrainMetrics::Program> Describe(
      absl::Span<const std::optional<HbmShare>> mean_returns) const;

  // Sets the programs of the state to all records, and its version of the rules.
  void SaveTo(v1::TrainState& state) const;

  // Restores the p-th record. InvalidArgument, with nothing changed, names the program if `saved`
  // belongs to another one, or if it is damaged. Then it also names the field. Damaged are a best
  // game that is none of this program or has another return, a return that is no number, and a
  // baseline of another program.
  absl::Status Restore(size_t p, const v1::TrainState::Program& saved);

 private:
  ProgramRecords(const ProgramSet& programs, std::vector<ProgramProgress> progress,
                 double ranked_quantile);

  v1::TrainState::Program Save(size_t p) const;

  const ProgramSet* programs_;
  std::vector<ProgramProgress> progress_;
  std::vector<bool> is_improved_;  // since TakeImproved
  Baselines baselines_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_
