// The begin and the end of loops.

#include "env/game.h"

namespace mallocmuzero {

void Game::EnterLoop(uint32_t loop) {
  state_.residency.EnterLoop();
  WaitForAllWriteBacks();  // copies to HBM do not cross the ends of a loop
  for (const uint32_t g : rules().GroupsOfLoop(loop)) {
    if (state_.residency.group(g) == Residency::GroupSpace::kFast) {
      TakeOver(g);
    } else {
      const uint32_t parameter = program().carried_groups()[g].parameter_buffer;
      state_.hbm[parameter].current_since = state_.instruction + 1;
    }
  }
}

void Game::TakeOver(uint32_t group) {
  state_.residency.TakeOver(group);
  state_.hbm[program().carried_groups()[group].parameter_buffer] = HbmValue();
}

void Game::LeaveLoop(uint32_t loop) {
  WaitForAllWriteBacks();
  for (const uint32_t g : rules().GroupsOfLoop(loop)) {
    const uint32_t result = program().carried_groups()[g].result_buffer;
    if (state_.residency.group(g) != Residency::GroupSpace::kFast) {
      state_.hbm[result].current_since = state_.instruction + 1;
      continue;
    }
    state_.residency.HandToResult(g, state_.instruction);
    state_.hbm[result] = HbmValue();
    if (rules().group(g).writes_back) QueueWriteBack(result);
  }
  Fix(state_.residency.LeaveLoop(loop, state_.instruction));
}

}  // namespace mallocmuzero
