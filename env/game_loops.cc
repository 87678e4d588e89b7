// The begin and the end of loops.

#include "env/game.h"

namespace mallocmuzero {

void Game::EnterLoop(LoopIndex loop) {
  state_.residency.EnterLoop();
  WaitForAllWriteBacks();  // copies to HBM do not cross the ends of a loop
  for (const CarriedGroupIndex g : rules().GroupsOfLoop(loop)) {
    if (state_.residency.group(g) == Residency::GroupSpace::kFast) {
      TakeOver(g);
    } else {
      const BufferIndex parameter = program().carried_groups()[g].parameter_buffer;
      state_.hbm.Mutable(parameter).current_since = state_.instruction + 1;
    }
  }
}

void Game::TakeOver(CarriedGroupIndex group) {
  state_.residency.TakeOver(group);
  state_.hbm.Mutable(program().carried_groups()[group].parameter_buffer) = HbmValue();
}

void Game::LeaveLoop(LoopIndex loop) {
  WaitForAllWriteBacks();
  for (const CarriedGroupIndex g : rules().GroupsOfLoop(loop)) {
    const BufferIndex result = program().carried_groups()[g].result_buffer;
    if (state_.residency.group(g) != Residency::GroupSpace::kFast) {
      state_.hbm.Mutable(result).current_since = state_.instruction + 1;
      continue;
    }
    state_.residency.HandToResult(g, state_.instruction);
    state_.hbm.Mutable(result) = HbmValue();
    if (rules().group(g).writes_back) QueueWriteBack(result);
  }
  Fix(state_.residency.LeaveLoop(loop, state_.instruction));
}

}  // namespace mallocmuzero
