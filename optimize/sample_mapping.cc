#include "optimize/sample_mapping.h"

#include <vector>

#include "base/random.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "simulator/core/fast_memory_share.h"

namespace mallocmuzero {
namespace {

constexpr double kShareOfMemory = 0.9;
constexpr double kShareInHbm = 0.35;

Action Choose(ActionSet legal, bool in_hbm) {
  if (in_hbm && Contains(legal, Action::kDrop)) return Action::kDrop;
  if (Contains(legal, Action::kNoCopy)) return Action::kNoCopy;
  return Contains(legal, Action::kCopy) ? Action::kCopy : Action::kDrop;
}

}  // namespace

absl::StatusOr<Mapping> SampleMapping(const Program& program, uint64_t seed) {
  const absl::StatusOr<Program> smaller = WithFastMemoryShare(program, kShareOfMemory);
  if (!smaller.ok()) return smaller.status();
  // Includes all accesses, because an access that is negligible by the table may not be so in
  // reality.
  const absl::StatusOr<ProgramRules> rules =
      ProgramRules::Create(*smaller, {.negligible_share = -1});
  if (!rules.ok()) return rules.status();
  Random random(seed);
  IndexVector<BufferIndex, uint8_t> in_hbm(program.buffer_count());
  for (const BufferIndex buffer : in_hbm.indices()) {
    in_hbm[buffer] = random.Unit() < kShareInHbm;
  }
  Game game(*rules);
  while (!game.finished()) {
    const BufferIndex buffer = program.accesses()[game.access()].buffer;
    game.Apply(Choose(game.legal_actions(), in_hbm[buffer]));
  }
  return game.ToMapping();
}

}  // namespace mallocmuzero
