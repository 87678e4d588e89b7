#include "env/solvers/greedy.h"

#include <algorithm>

#include "env/solvers/plan.h"
#include "env/solvers/values.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {

GreedyPlayer::GreedyPlayer(const ProgramRules& rules)
    : rules_(rules), later_savings_(rules.access_count(), 0) {
  const std::vector<double> savings = FindSavings(rules.program());
  for (const Value& value : FindValues(rules.program())) {
    double later = 0;
    for (size_t k = value.accesses.size(); k-- > 0;) {
      later_savings_[value.accesses[k]] = later;
      later += std::max(0.0, savings[value.accesses[k]]);
    }
  }
}

Action GreedyPlayer::Choose(const Game& game) const {
  const Program& program = rules_.program();
  const uint32_t a = game.access();
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

Game PlayGreedy(const ProgramRules& rules) {
  const GreedyPlayer player(rules);
  Game game(rules);
  while (!game.finished()) game.Apply(player.Choose(game));
  return game;
}

}  // namespace mallocmuzero
