// The plan that a local search has, its game, and its snapshots. A changed plan is played only from
// its first change, and up to where it no longer differs.

#ifndef MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_
#define MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/snapshot_store.h"

namespace mallocmuzero {

// Another action for one access of a plan.
struct PlanChange {
  AccessIndex access = 0;
  Action action = Action::kDrop;
};

// Thread-compatible; `rules` must outlive it.
//
// At first everything it says is exact. After AssumeRests, a changed game is not played to its end:
// it is played until its state seems to be the state of the incumbent's game again
// (have_same_future.h), and the rest is assumed to be the same. Then cycles() and IsFast() are
// estimates until Confirm.
class Incumbent {
 public:
  explicit Incumbent(const ProgramRules& rules);

  // Makes a plan the incumbent, and plays it from its first difference to its end.
  void Reset(Plan plan);

  const Plan& plan() const { return plan_; }
  double cycles() const { return cycles_; }

  // Grows by one with every game that becomes the incumbent.
  uint64_t version() const { return version_; }

  // Whether the access is in fast memory in the incumbent's game.
  bool IsFast(AccessIndex access) const { return in_fast_memory_[access] != 0; }
  IndexSpan<AccessIndex, const uint8_t> in_fast_memory() const { return in_fast_memory_; }

  // Changes the plan, and keeps the change if the game's cycles are at most `limit`. `changes`
  // ascend by access. Returns whether a game was played: changes that leave every decision as it is
  // play nothing. A game above the limit is given up once it has cost as much as the incumbent's
  // for a while: the decisions are the same again, and a later gain would be chance.
  //
  // After AssumeRests `give_up` is asked before each decision. If it returns true, the change is
  // refused.
  bool Try(absl::Span<const PlanChange> changes, double limit, absl::FunctionRef<bool()> give_up);

  // A `give_up` that lets each game go on.
  static bool Never() { return false; }

  // From now on tries assume the rest of a game. Call it after Reset.
  void AssumeRests();

  // Whether cycles() are those of a game that was played to its end.
  bool is_exact() const { return inexact_from_ == kExact; }

  // Plays the rests that were assumed.
  void Confirm();

  // The decisions of all games and parts of games that were played to see what they take.
  uint64_t decisions_played() const { return near_played_ + far_played_; }

  // The incumbent as it was at some time.
  class Mark;

  // Remembers the incumbent, and goes back to it without a game. Both take time in the number of
  // accesses. A mark of an exact incumbent is exact. Marks may nest: going back to one leaves the
  // earlier ones as they are.
  void SaveTo(Mark& mark);
  void GoBackTo(const Mark& mark);

 private:
  // One decision of a game.
  struct Step {
    double cycles = 0;             // Game::cycles before it
    ActionSet legal = 0;           // 0: not a decision
    Action taken = Action::kDrop;  // if it is one
  };

  // How a trial ended.
  enum class Outcome : uint8_t { kRefused, kFinished, kJoined };

  // A worse game is given up after this many decisions in a row that are those of the incumbent's
  // game and cost as much as they cost there.
  static constexpr int kDecisionsInStep = 8;

  // Most games that assume rests come to the incumbent's state at most kNear accesses after their
  // last change. A game that has not, and has gained nothing so far, may gain later: it keeps a
  // value for a far access. Such games get kFarShare decisions for each decision of the others.
  static constexpr int32_t kNear = 256;
  static constexpr uint64_t kFarShare = 4;

  // A changed game that has come this far from its first change mostly goes to its end. From there
  // on it keeps snapshots, because it may become the incumbent.
  static constexpr int32_t kFar = 512;  // accesses

  static constexpr AccessIndex kExact = std::numeric_limits<int32_t>::max();

  // The first access at which the changes change a decision; access_count if there is none.
  AccessIndex FirstEffect(absl::Span<const PlanChange> changes) const;

  // Sets game_ to the incumbent's game just before the decision of an access.
  void GoTo(AccessIndex access);

  // Plays game_, the incumbent's game, up to an access, and keeps snapshots on the way.
  void Advance(AccessIndex access);

  // Plays game_ by plan_ and fills trial_ from access `first` on. kRefused if the game was given up
  // or takes more than `limit`; kJoined if it came to a snapshot of the incumbent's game.
  Outcome Play(AccessIndex first, AccessIndex last_change, double limit,
               absl::FunctionRef<bool()> give_up);

  // Whether the rest of game_ is that of the incumbent's game.
  bool JoinsIncumbent() const;

  // Makes the game that was played from `first` to its end the incumbent.
  void AcceptToEnd(AccessIndex first);

  // Makes the game that was played from `first` to where it joined the incumbent's game the
  // incumbent.
  void AcceptPart(AccessIndex first);

  // Plays plan_ from `first` to its end, whatever it costs.
  void Replay(AccessIndex first);

  const ProgramRules& rules_;
  Plan plan_;
  double cycles_ = 0;
  uint64_t version_ = 0;
  IndexVector<AccessIndex, Step> steps_;  // by access
  IndexVector<AccessIndex, uint8_t> in_fast_memory_;
  Game game_;
  double game_shift_ = 0;                 // what Game::cycles of game_ lacks, as in SnapshotStore
  IndexVector<AccessIndex, Step> trial_;  // of game_, from the first changed decision on
  SnapshotStore snapshots_;               // of the incumbent's game
  bool assumes_rests_ = false;
  uint64_t near_played_ = 0;  // decisions
  uint64_t far_played_ = 0;
  // The first access of the games that were not played to the end.
  AccessIndex inexact_from_ = kExact;
  std::vector<PlanChange> undo_;
};

class Incumbent::Mark {
 public:
  const Plan& plan() const { return plan_; }
  double cycles() const { return cycles_; }

 private:
  friend class Incumbent;

  Plan plan_;
  double cycles_ = 0;
  AccessIndex inexact_from_ = kExact;
  IndexVector<AccessIndex, Step> steps_;
  IndexVector<AccessIndex, uint8_t> in_fast_memory_;
  SnapshotStore::Mark snapshots_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_INCUMBENT_H_
