// The layers of a program: which instructions and buffers of them are the same up to the layer.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MAP_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MAP_H_

#include <cstdint>
#include <vector>

#include "base/index.h"
#include "simulator/core/indices.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The place of an instruction or a buffer among the layers.
struct LayerPlace {
  int32_t chain = -1;  // index into the chains of its kind; -1 if it is in no layer
  int32_t layer = 0;   // number of the layer
};

// One element of each layer from `first_layer` on, such as the first matrix product of each layer's
// backward pass. Some chains leave out the first or the last layer, because the compiler fuses
// these with what is around them.
template <typename I>
struct LayerChain {
  int32_t first_layer = 0;
  std::vector<I> members;

  int32_t last_layer() const { return first_layer + static_cast<int32_t>(members.size()) - 1; }
  bool Has(int32_t layer) const { return layer >= first_layer && layer <= last_layer(); }
  I At(int32_t layer) const { return members[layer - first_layer]; }
};

// Layers are numbered in the order of the schedule of the part that was found first. If that part
// is a backward pass, layer 0 is the last one of the model. An instruction and its
// buffer may be of different layers: one that reads what the layer before wrote has a buffer of
// that layer. The difference is the same for all members of a chain.
struct LayerMap {
  std::vector<LayerChain<InstructionIndex>> instruction_chains;
  std::vector<LayerChain<BufferIndex>> buffer_chains;
  IndexVector<InstructionIndex, LayerPlace> instructions;
  IndexVector<BufferIndex, LayerPlace> buffers;

  // The instructions of `layer` that are in the next layer as well, in the order of the schedule.
  std::vector<InstructionIndex> RepeatableInstructions(int32_t layer) const;

  // The layers with such instructions. Those with the most come first, and those in the middle
  // first among equals.
  std::vector<int32_t> LayersByRepeatability() const;
};

// Finds the layers of a program that has at least three of them, outside of loops. Where the
// compiler fuses instructions of two layers, one layer of the map is two of the model: otherwise no
// layer would have these instructions.
LayerMap FindLayers(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MAP_H_
