// A program with more layers than were compiled.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_REPEAT_LAYERS_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_REPEAT_LAYERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The program of the model with `to` layers, made of the program of the same model with `from`
// layers, with copies of a layer from its middle. Each copy has instructions, weights and
// activations of its own. A copy reads what the layer before it wrote, and its backward pass reads
// what its forward pass kept. Each instruction stands where the layer after it has the same
// instruction, so the parts of the schedule grow in which the compiler visits all layers:
//
//     forward 0 1 2, backward 2 1 0, updates 0 1 2
//     forward 0 1 a b 2, backward 2 b a 1 0, updates 0 1 a b 2          (two copies of layer 1)
//
// The compiler may fuse instructions of two layers of the model, so that the program repeats itself
// only every second layer. Then one copy stands for two layers of the model, and `to` - `from` must
// be a multiple of that number.
//
// Latencies are those of the copied layer. The new program has the name `name`, no baseline, no
// source and no match reports, since the compiler has not compiled it. Names of copies end in
// ".copy" and a number.
//
// InvalidArgument if
// - `to` is not more than `from`, or not by such a multiple,
// - the program has no layers,
// - it has asynchronous collectives, which may belong to two layers,
// - the compiler has mixed each layer with its neighbours so that no order of the copies is right,
// - an instruction uses a buffer of each layer, such as a sum over all layers,
// - each layer has a loop, or a loop uses a buffer of each layer,
// - the result would have more than a million instructions.
absl::StatusOr<Program> WithModelLayers(const Program& program, int32_t from, int32_t to,
                                        const std::string& name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_REPEAT_LAYERS_H_
