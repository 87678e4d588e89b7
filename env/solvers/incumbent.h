// The game that local search improves. The incumbent keeps snapshots of the game, so that a changed
// plan is played only from its first change.

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

// Another action for one access of a plan.
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

  // Grows by one with every game that becomes the incumbent.
  uint64_t version() const { return version_; }

  // Whether the access is in fast memory in the incumbent's game.
  bool IsFast(uint32_t access) const { return in_fast_memory_[access] != 0; }
  absl::Span<const uint8_t> in_fast_memory() const { return in_fast_memory_; }

  // Changes the plan, and keeps the change if the game's cycles are at most `limit`. `changes`
  // ascend by access. Returns whether a game was played: changes that leave every decision as it is
  // play nothing. A game above the limit is given up once it has cost as much as the incumbent's
  // for a while: the decisions are the same again, and a later gain would be chance.
  bool Try(absl::Span<const PlanChange> changes, double limit);

 private:
  // One decision of a game.
  struct Step {
    double cycles = 0;             // Game::cycles before it
    ActionSet legal = 0;           // 0: not a decision
    Action taken = Action::kDrop;  // if it is one
  };

  // A worse game is given up after so many decisions in a row that are the incumbent's and cost as
  // much as they cost there.
  static constexpr int kDecisionsInStep = 8;

  // The first access at which the changes change a decision; access_count if there is none.
  uint32_t FirstEffect(absl::Span<const PlanChange> changes) const;

  // Sets game_ to the incumbent's game just before the decision of an access.
  void GoTo(uint32_t access);

  // Makes the snapshots up to the k-th valid again.
  void RenewSnapshots(size_t k);

  // Plays game_ to its end by plan_ and fills trial_. False if the game was given up or takes more
  // than `limit`.
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
  std::vector<Step> trial_;         // of game_, from the first changed decision on
  uint32_t snapshot_distance_ = 1;  // accesses
  std::vector<Game> snapshots_;     // k: at the first decision at or after k x snapshot_distance_
  size_t valid_snapshots_ = 1;      // the first ones, which are of the incumbent's game
  std::vector<PlanChange> undo_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_
