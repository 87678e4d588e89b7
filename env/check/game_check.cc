#include "env/check/game_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {

std::string GameCheck::Message() const {
  std::string message;
  if (return_error > kMaxReturnError) {
    absl::StrAppend(&message, "the return differs from Simulate by ", return_error, "\n");
  }
  for (const Violation& violation : violations) {
    absl::StrAppend(&message, RuleName(violation.rule), ": ", violation.message, "\n");
  }
  return message;
}

GameCheck CheckGame(const Game& game, double reward_sum, CheckDepth depth) {
  GameCheck check;
  const Mapping mapping = game.ToMapping();
  const double saved =
      game.rules().all_hbm_cycles() - Simulate(game.program(), mapping).total_cycles;
  const double simulated = game.rules().ShareOfAllHbm(saved);
  check.return_error = std::abs(reward_sum - simulated) / std::max(1.0, std::abs(simulated));
  if (depth == CheckDepth::kValidity) check.violations = Validate(game.program(), mapping);
  return check;
}

}  // namespace mallocmuzero
