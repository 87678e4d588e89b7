// The numbers that the simulator and the game need of every instruction and access, as small
// structs copied out of the Program message. Names and other cold data stay in the message.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_

#include <cstdint>

#include "simulator/core/indices.h"

namespace mallocmuzero {

// Most accesses of an instruction. Bounded so that a uint64_t can hold a set of accesses.
inline constexpr uint32_t kMaxAccessesPerInstruction = 64;

// Most loops inside each other. Bounded so that code that follows a program's loops may recurse.
inline constexpr int kMaxLoopDepth = 64;

enum class InstructionKind : uint8_t {
  kEstimated,  // the compiler estimated its cycles
  kModelled,   // priced by the roofline
  kLoopBegin,  // loop marker: no time, no accesses
  kLoopEnd,    // loop marker: no time, no accesses
};

// True for the begin and the end of a loop.
inline bool IsMarker(InstructionKind kind) {
  return kind == InstructionKind::kLoopBegin || kind == InstructionKind::kLoopEnd;
}

enum class AccessKind : uint8_t {
  kRead,
  kWrite,
  kUpdate,  // in place: reads and writes the same address
};

inline constexpr int kAccessKindCount = 3;

// One step of the schedule. An action "just before" an instruction, such as queueing a copy or
// waiting for one, happens as often as the instruction runs. The point just before a kLoopBegin
// lies outside its loop; the point just before a kLoopEnd lies inside the loop, at the end of the
// body. Program sets `loop` and `execution_count` of the markers accordingly.
struct Instruction {
  double execution_count = 1;    // executions in one run of the program
  int64_t fixed_hbm_bytes = 0;   // traffic of one execution that is always to or from HBM
  AccessIndex first_access = 0;  // index into Program::accesses
  uint32_t access_count = 0;     // 0 to 64
  LoopIndex loop = -1;  // index into Program::loops of the innermost loop around it; -1: none
  InstructionKind kind = InstructionKind::kEstimated;
};

// The set of all accesses of an instruction, one bit each.
inline uint64_t AllAccesses(const Instruction& instruction) {
  if (instruction.access_count == kMaxAccessesPerInstruction) return ~uint64_t{0};
  return (uint64_t{1} << instruction.access_count) - 1;
}

// One instruction reading, writing or updating one buffer.
struct Access {
  int64_t bytes = 0;                 // of the buffer that the access covers
  int64_t bytes_accessed = 0;        // traffic of one execution
  InstructionIndex instruction = 0;  // index into Program::instructions
  BufferIndex buffer = 0;            // index into Program::buffers
  AccessKind kind = AccessKind::kRead;
};

// Tensors that must share one address while they live. A copy between memories moves all `bytes`.
struct Buffer {
  int64_t bytes = 0;           // positive
  InstructionIndex first = 0;  // live range in instructions, from `first` to `last`, inclusive
  InstructionIndex last = 0;
  bool live_in = false;        // valid in HBM before the program starts
  bool live_out = false;       // must be valid in HBM when the program ends
  bool pinned_to_hbm = false;  // may never be in fast memory
};

// One element of the tuple that a loop hands from pass to pass. `loop` is an index into
// Program::loops, the others are indices into Program::buffers.
struct CarriedGroup {
  LoopIndex loop = 0;
  BufferIndex initial_buffer = 0;
  BufferIndex parameter_buffer = 0;
  BufferIndex root_buffer = 0;
  BufferIndex result_buffer = 0;
};

// A time in which asynchronous collectives work on a buffer, from the instruction that starts the
// first of them to the one that waits for the last. Meanwhile the buffer stays in its memory, at
// its address, and no copy of it runs.
struct Flight {
  BufferIndex buffer = 0;
  InstructionIndex start = 0;
  InstructionIndex done = 0;  // after `start`, in the same loop

  friend bool operator==(const Flight&, const Flight&) = default;
};

// A loop's body and condition are the instructions between its markers. In Program::loops a parent
// comes before its children.
struct Loop {
  InstructionIndex begin = 0;  // index of the kLoopBegin
  InstructionIndex end = 0;    // index of the kLoopEnd
  LoopIndex parent = -1;
  int64_t trip_count = 1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_TYPES_H_
