// A training step of equal layers, as a compiler schedules it.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_TRAINING_STEP_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_TRAINING_STEP_H_

#include <cstdint>

#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero::testing {

// The instructions of TrainingStep(layers):
//
//     convert 0, convert 1, ..., embed, forward 0, forward 1, ..., loss,
//     backward n-1, backward n-2, ..., update 0, update 1, ...
//
// Forward has two instructions for each layer and backward two. Forward keeps an activation, which
// the backward pass of the same layer reads. All layers read one mask. As in compiled programs, the
// first forward layer and the last backward layer are of other latency classes. Layers do not
// differ in sizes and cycles, so that the program with n + m layers is the one with n layers and m
// repeated ones.
v1::Program TrainingStep(uint32_t layers);

// The same with one more instruction behind the backward pass, "sum.0", which reads the gradients
// of all layers.
v1::Program TrainingStepWithSumOfGradients(uint32_t layers);

// The number of instructions of TrainingStep(layers).
inline uint32_t TrainingStepSize(uint32_t layers) { return 2 + 6 * layers; }

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_TRAINING_STEP_H_
