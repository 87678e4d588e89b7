// The buffers as the dual sees them: their accesses in time, and the copies that they may need.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_BUFFER_CHAINS_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_BUFFER_CHAINS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// One access of a buffer.
struct ChainLink {
  AccessIndex access = 0;            // index into Program::accesses
  InstructionIndex instruction = 0;  // of the access
  // The first instruction at which a copy into fast memory may move bytes of the value that the
  // access finds: the one after the value was made.
  InstructionIndex copy_from = 0;
  AccessKind kind = AccessKind::kRead;

  // A loop hands the value of another buffer on to this one after the access before.
  bool is_handed_on = false;
};

// The cost, after the last access, of a value that is in fast memory only.
enum class ChainEnd : uint8_t {
  kNothing,
  kWriteBack,        // it must be in HBM before the instruction `end`
  kHoldOrWriteBack,  // the same, or stay in fast memory up to the loop marker `end`
};

// A buffer that may be in fast memory. The links are in the order of the program.
struct BufferChain {
  double bytes = 0;  // of a copy; also the bytes that the value takes, without alignment
  double size = 0;   // bytes that it takes in fast memory, with alignment

  // The first limit of large buffers that counts this one; all later ones count it, too.
  // kLargeLimits if it is small.
  size_t first_large_limit = 0;

  std::vector<ChainLink> links;

  // The value may be in fast memory before the first access, without a copy, from the instruction
  // `start` on: a loop hands it on, or another run of the program has copied it.
  bool starts_fast = false;
  InstructionIndex start = 0;

  ChainEnd ending = ChainEnd::kNothing;
  InstructionIndex end = 0;  // an instruction, or the number of instructions
};

// The chains of all buffers that have an access and fit into fast memory.
std::vector<BufferChain> FindBufferChains(const Program& program);

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_BUFFER_CHAINS_H_
