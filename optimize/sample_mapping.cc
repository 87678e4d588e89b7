#include "optimize/sample_mapping.h"

#include "absl/status/statusor.h"
#include "base/random.h"
#include "env/action.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "simulator/core/fast_memory_share.h"

namespace mallocmuzero {
namespace {

constexpr double kShareOfMemory = 0.9;
constexpr double kShareInHbm = 0.35;

}  // namespace

Mapping SampleMapping(const Program& program, uint64_t seed) {
  // An error means that the share is less than the alignment.
  const absl::StatusOr<Program> smaller = WithFastMemoryShare(program, kShareOfMemory);
  // Includes all accesses, because an access that is negligible by the table may not be so in
  // reality.
  const ProgramRules rules =
      ProgramRules::Create(smaller.ok() ? *smaller : program, {.negligible_share = -1});
  Random random(seed);
  IndexVector<BufferIndex, uint8_t> in_hbm(program.buffer_count());
  for (const BufferIndex buffer : in_hbm.indices()) {
    in_hbm[buffer] = random.Unit() < kShareInHbm;
  }
  Game game(rules);
  const auto choose = [&](const Game& now) {
    const ActionSet legal = now.legal_actions();
    const bool drop = in_hbm[program.accesses()[now.access()].buffer] != 0;
    return drop && Contains(legal, Action::kDrop) ? Action::kDrop : EagerAction(legal);
  };
  PlayOn(choose, game);
  return game.ToMapping();
}

}  // namespace mallocmuzero
