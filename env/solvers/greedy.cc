#include "env/solvers/greedy.h"

#include <algorithm>

#include "simulator/core/mapping.h"

namespace mallocmuzero {

GreedyPlayer::GreedyPlayer(const ProgramFacts& facts)
    : facts_(facts), later_savings_(facts.program().access_count(), 0) {
  for (const Value& value : facts.values()) {
    double later = 0;
    for (size_t k = value.accesses.size(); k-- > 0;) {
      later_savings_[value.accesses[k]] = later;
      later += std::max(0.0, facts.savings()[value.accesses[k]]);
    }
  }
}

Action GreedyPlayer::Choose(const Game& game) const {
  const Program& program = facts_.program();
  const AccessIndex a = game.access();
  const Access& access = program.accesses()[a];
  const Instruction& instruction = program.instructions()[access.instruction];
  const uint64_t fast_mask = FastMask(program, access.instruction, game.in_fast_memory());
  const uint64_t with = fast_mask | uint64_t{1} << (a - instruction.first_access);
  double saving = (program.latency().Cycles(access.instruction, fast_mask) -
                   program.latency().Cycles(access.instruction, with)) *
                  instruction.execution_count;
  if (access.kind != AccessKind::kRead) saving += later_savings_[a];
  return mallocmuzero::Choose(saving > 0 ? Action::kNoCopy : Action::kDrop, game.legal_actions());
}

Game PlayGreedy(const ProgramFacts& facts) {
  const GreedyPlayer player(facts);
  Game game(facts.rules());
  PlayOn([&](const Game& now) { return player.Choose(now); }, game);
  return game;
}

absl::StatusOr<std::vector<PlayedPlan>> GreedySolver::Propose(const ProgramFacts& facts,
                                                              uint64_t /*seed*/,
                                                              BudgetMeter& meter) const {
  const GreedyPlayer player(facts);
  Game game(facts.rules());
  std::vector<AccessIndex> decided;
  const auto choose = [&](const Game& now) {
    decided.push_back(now.access());
    return player.Choose(now);
  };
  std::vector<PlayedPlan> plans;
  if (!PlayUnless([&] { return meter.CountStep(); }, choose, game)) return plans;
  plans.push_back({.plan = PlanOf(game, decided), .cycles = game.cycles()});
  meter.CountGame(plans.back());
  return plans;
}

}  // namespace mallocmuzero
