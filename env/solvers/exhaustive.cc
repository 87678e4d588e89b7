#include "env/solvers/exhaustive.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "env/game.h"
#include "env/solvers/fewest_cycles.h"
#include "env/solvers/greedy.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {
namespace {

class Search {
 public:
  Search(const ProgramFacts& facts, BudgetMeter& meter) : rules_(facts.rules()), meter_(meter) {
    const Program& program = facts.program();
    most_saved_from_.assign(program.instruction_count() + 1, 0);
    most_saved_from_.back() = rules_.AllHbmCollectiveWait(program.instructions().end_index());
    for (InstructionIndex i = program.instructions().end_index(); i-- > 0;) {
      fewest_cycles_.push_back(FewestCycles(rules_, i));
      const double wait =
          rules_.AllHbmCollectiveWait(i) * program.instructions()[i].execution_count;
      most_saved_from_[i] = most_saved_from_[i + 1] + MostSaved(i, 0, fewest_cycles_.back()) + wait;
    }
    std::reverse(fewest_cycles_.begin(), fewest_cycles_.end());
    Keep(PlayGreedy(facts));
  }

  void Run(const Game& game) {
    if (game.finished()) {
      Keep(game);
      meter_.CountGame();
      return;
    }
    if (LeastPossible(game) >= best_cycles_) {
      meter_.CountGame();
      return;
    }
    for (const Action action : {Action::kNoCopy, Action::kCopy, Action::kDrop}) {
      if (!game.IsLegal(action) || meter_.spent()) continue;
      Game next = game;
      next.Apply(action);
      Run(next);
    }
  }

  const std::vector<Action>& best() const { return best_; }

 private:
  // Cycles of all executions that the instruction could save beyond those that the accesses in
  // `fast_mask` save.
  double MostSaved(InstructionIndex instruction, uint64_t fast_mask, double fewest) const {
    const Program& program = rules_.program();
    return (program.latency().Cycles(instruction, fast_mask) - fewest) *
           program.instructions()[instruction].execution_count;
  }

  // A lower bound: stalls never get shorter, and instructions before the current one do not change.
  double LeastPossible(const Game& game) const {
    const InstructionIndex i = rules_.program().accesses()[game.access()].instruction;
    const double saved_now =
        MostSaved(i, FastMask(rules_.program(), i, game.in_fast_memory()), fewest_cycles_[i]);
    return game.cycles() - saved_now - most_saved_from_[i + 1];
  }

  void Keep(const Game& game) {
    if (!best_.empty() && game.cycles() >= best_cycles_) return;
    best_cycles_ = game.cycles();
    best_.assign(game.history().begin(), game.history().end());
    meter_.budget().Found(best_cycles_);
  }

  const ProgramRules& rules_;
  BudgetMeter& meter_;
  IndexVector<InstructionIndex, double> fewest_cycles_;  // by instruction, one execution
  // By instruction: the sum of MostSaved over it and all later ones, and their waits for
  // collectives, which may end.
  IndexVector<InstructionIndex, double> most_saved_from_;
  double best_cycles_ = 0;
  std::vector<Action> best_;
};

}  // namespace

absl::StatusOr<std::vector<PlayedPlan>> ExhaustiveSolver::Propose(const ProgramFacts& facts,
                                                                  uint64_t /*seed*/,
                                                                  BudgetMeter& meter) const {
  uint32_t decidable = 0;
  for (const AccessIndex a : facts.program().accesses().indices()) decidable += facts.IsMovable(a);
  if (decidable > kMaxExhaustiveAccesses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "program '", facts.program().proto().name(), "': ", decidable,
        " accesses may be decided, too many for the solver exhaustive, which takes at most ",
        kMaxExhaustiveAccesses, "; local_search takes any number"));
  }
  Search search(facts, meter);
  search.Run(Game(facts.rules()));
  const Game best = PlayActions(facts.rules(), search.best());
  return std::vector<PlayedPlan>{{.plan = PlanOf(best), .cycles = best.cycles()}};
}

}  // namespace mallocmuzero
