// The records of all programs of a run: their best games and their baselines.

#ifndef MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_
#define MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/curriculum.h"
#include "learner/program_progress.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// The player's name if the agent has played the best game.
inline constexpr char kAgentPlayer[] = "agent";

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
  void SetPolicyReturn(size_t p, double policy_return) {
    progress_[p].policy_return = policy_return;
  }

  // The indices of the programs that have a better game than at the last call. The caller writes
  // their mappings, and puts back a program whose mapping it could not write.
  std::vector<size_t> TakeImproved();
  void PutBackImproved(size_t p) { is_improved_[p] = true; }

  // How well each program is played, for ProgramWeights. Mean returns are those of the baselines.
  std::vector<ProgramStanding> Standings() const;

  // The entries of the programs in a line of metrics, without the mean returns of recent games.
  std::vector<v1::TrainMetrics::Program> Describe() const;

  // Converts the p-th record to the part of a checkpoint and back, as SaveProgress and
  // RestoreProgress do.
  v1::TrainState::Program Save(size_t p) const;
  bool Restore(size_t p, const v1::TrainState::Program& saved);

 private:
  ProgramRecords(const ProgramSet& programs, std::vector<ProgramProgress> progress,
                 double ranked_quantile);

  const ProgramSet* programs_;
  std::vector<ProgramProgress> progress_;
  std::vector<bool> is_improved_;  // since TakeImproved
  Baselines baselines_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_RECORDS_H_
