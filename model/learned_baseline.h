// The units of the values of a network, as the checkpoint of its run has them.

#ifndef MALLOCMUZERO_MODEL_LEARNED_BASELINE_H_
#define MALLOCMUZERO_MODEL_LEARNED_BASELINE_H_

#include "mallocmuzero/v1/train_state.pb.h"

namespace mallocmuzero {

// The baseline with which the network of the checkpoint learned values in its last update. `train`
// moves the other one after the updates of each iteration. The learner of a cluster moves it when
// it publishes weights, so that it has only that one.
inline const v1::ReturnBaselineState& LearnedBaseline(const v1::TrainState::Program& program) {
  return program.learned_baseline().measured() ? program.learned_baseline() : program.baseline();
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_LEARNED_BASELINE_H_
