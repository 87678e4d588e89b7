// What the simulator and the game touch for every instruction and access: small structs of numbers
// copied out of the Program message. Names and other cold data stay in the message.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_

#include <cstdint>

namespace mallocmuzero {

// Bound of Instruction::access_count: a set of accesses is a uint64_t.
inline constexpr uint32_t kMaxAccessesPerInstruction = 64;

// Bound of loops inside each other: whoever follows a program's loops may recurse.
inline constexpr int kMaxLoopDepth = 64;

enum class InstructionKind : uint8_t {
  kEstimated,  // the compiler gives its cycles
  kModelled,   // priced by the roofline
  kLoopBegin,  // marker, no time, no accesses
  kLoopEnd,    // marker, no time, no accesses
};

enum class AccessKind : uint8_t {
  kRead,
  kWrite,
  kUpdate,  // in place: reads and writes the same address
};

// One step of the schedule. What is queued or waited for "just before" an instruction happens as
// often as the instruction runs. That point lies outside the loop for its kLoopBegin, and at the
// end of the body, inside the loop, for its kLoopEnd: Program sets `loop` and `execution_count` of
// markers accordingly.
struct Instruction {
  double execution_count = 1;   // in one run of the program
  int64_t fixed_hbm_bytes = 0;  // traffic of one execution that never leaves HBM
  uint32_t first_access = 0;    // into Program::accesses
  uint32_t access_count = 0;    // 0 to 64
  int32_t loop = -1;            // innermost around it, into Program::loops; -1: none
  InstructionKind kind = InstructionKind::kEstimated;
};

// One instruction touching one buffer.
struct Access {
  int64_t bytes = 0;           // footprint
  int64_t bytes_accessed = 0;  // traffic of one execution
  uint32_t instruction = 0;    // into Program::instructions
  uint32_t buffer = 0;         // into Program::buffers
  AccessKind kind = AccessKind::kRead;
};

// Tensors that share one address. A copy between memories moves all `bytes`.
struct Buffer {
  int64_t bytes = 0;   // positive
  uint32_t first = 0;  // live range in instructions, inclusive
  uint32_t last = 0;
  bool live_in = false;        // valid in HBM before the program starts
  bool live_out = false;       // must be valid in HBM when the program ends
  bool pinned_to_hbm = false;  // never in fast memory
};

// One element of a loop's carried tuple. Loop into Program::loops, the rest into Program::buffers.
struct CarriedGroup {
  uint32_t loop = 0;
  uint32_t initial_buffer = 0;
  uint32_t parameter_buffer = 0;
  uint32_t root_buffer = 0;
  uint32_t result_buffer = 0;
};

// Body and condition are the instructions between the markers. A parent comes before its children
// in Program::loops.
struct Loop {
  uint32_t begin = 0;  // index of the kLoopBegin
  uint32_t end = 0;    // index of the kLoopEnd
  int32_t parent = -1;
  int64_t trip_count = 1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_
