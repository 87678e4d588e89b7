// Pairs the instructions and buffers of each layer of a program with those of the next layer.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MATCHER_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MATCHER_H_

#include <cstdint>
#include <vector>

#include "base/index.h"
#include "simulator/core/indices.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// For each element the same element of the next layer; -1 for an element that is in no layer or in
// the last one. A buffer that all layers share, such as a mask, is paired with itself.
struct LayerPairs {
  IndexVector<InstructionIndex, InstructionIndex> next_instruction;
  IndexVector<BufferIndex, BufferIndex> next_buffer;
};

// Instructions that are alike have equal numbers: the same latency class and opcode, and accesses
// of the same kinds and sizes. Loop markers and instructions in loops are alike to none.
IndexVector<InstructionIndex, int32_t> NumberAlikeInstructions(const Program& program);

// A part of a schedule in which each instruction is like the one `period` further on.
struct PeriodicPart {
  int32_t begin = 0;   // the first instruction
  int32_t period = 0;  // the instructions of one layer; 0 if there is no such part
  int32_t end = 0;     // behind the last instruction

  int32_t size() const { return end - begin; }
};

// The periodic part that has the most instructions, at least three periods of them; the one with
// the shortest period among equals. `alike` are the numbers of NumberAlikeInstructions. The time is
// quadratic in the number of instructions.
PeriodicPart LongestPeriodicPart(const IndexVector<InstructionIndex, int32_t>& alike);

// Pairs the instructions of the longest periodic part, which is a forward or a backward pass, with
// those that are `periods` periods further on. No pairs if the part has less than three times that
// many. Then it follows the buffers: the instructions that use a buffer are paired with the
// instructions that use the buffer of the next layer in the same way. So the backward pass, the
// updates of the weights and their conversions are paired as well, wherever they are in the
// schedule.
LayerPairs PairLayers(const Program& program, int32_t periods);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_LAYER_MATCHER_H_
