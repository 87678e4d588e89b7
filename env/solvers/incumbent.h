// The game that local search improves, kept so that a changed one is played from the change on.

#ifndef MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_
#define MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"

namespace mallocmuzero {

// One intention of a plan changed.
struct PlanChange {
  uint32_t access = 0;
  Action action = Action::kDrop;
};

// Thread-compatible; `rules` must outlive it.
class Incumbent {
 public:
  explicit Incumbent(const ProgramRules& rules);

  // Plays a plan from the beginning and makes it the incumbent.
  void Reset(Plan plan);

  const Plan& plan() const { return plan_; }
  double cycles() const { return cycles_; }

  // Rises with every game that becomes the incumbent.
  uint64_t version() const { return version_; }

  // Whether the game's access went to fast memory.
  bool IsFast(uint32_t access) const { return in_fast_memory_[access] != 0; }
  absl::Span<const uint8_t> in_fast_memory() const { return in_fast_memory_; }

  // Changes the plan, and keeps it so if the game's cycles are at most `limit`. `changes` ascend by
  // access. Plays nothing if the changes change nothing; a game above the limit that has done for a
  // while what the incumbent did is not played to its end: what it would gain later it would gain
  // by chance.
  void Try(absl::Span<const PlanChange> changes, double limit);

 private:
  // A decision.
  struct Step {
    double cycles = 0;             // Game::cycles before it
    ActionSet legal = 0;           // 0: not a decision
    Action taken = Action::kDrop;  // if it is one
  };

  // Decisions in a row that are the incumbent's and cost as much, after which a worse game is
  // given up.
  static constexpr int kDecisionsInStep = 8;

  // The first access at which the changes change the game; access_count if they do not.
  uint32_t FirstEffect(absl::Span<const PlanChange> changes) const;

  // Sets game_ to the incumbent just before a decision.
  void GoTo(uint32_t access);

  // Takes the snapshots up to the k-th that are not valid any more.
  void RenewSnapshots(size_t k);

  // Plays game_ to its end under plan_ and fills trial_. False if it was given up.
  bool Play(uint32_t last_change, double limit);

  // Makes the game played from `first` on the incumbent.
  void Accept(uint32_t first);

  const ProgramRules& rules_;
  Plan plan_;
  double cycles_ = 0;
  uint64_t version_ = 0;
  std::vector<Step> steps_;  // by access
  std::vector<uint8_t> in_fast_memory_;
  Game game_;
  std::vector<Step> trial_;         // of game_, from where it was played
  uint32_t snapshot_distance_ = 1;  // accesses
  std::vector<Game> snapshots_;  // k: at the first decision from access k x snapshot_distance_ on
  size_t valid_snapshots_ = 1;   // that are the incumbent's
  std::vector<PlanChange> undo_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_
