// The memory of every access of a program, and the copies that this takes.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_MAPPING_TYPES_H_
#define MALLOCMUZERO_SIMULATOR_CORE_MAPPING_TYPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/indices.h"

namespace mallocmuzero {

// One piece of a sliced copy from HBM. It is queued just before instruction `start`, after the
// pieces before it.
struct CopySlice {
  InstructionIndex start = 0;
  int64_t bytes = 0;

  friend bool operator==(const CopySlice&, const CopySlice&) = default;
};

// A time that one buffer is in fast memory at one address; see Interval in mapping.proto. Positions
// of copies are instructions; -1 means that there is no copy. The start and the done of a copy are
// both set or both -1.
struct Interval {
  BufferIndex buffer = 0;
  InstructionIndex first = 0;  // the bytes are occupied from `first` to `last`, inclusive
  InstructionIndex last = 0;
  int64_t offset = 0;  // bytes
  InstructionIndex copy_in_start = -1;
  InstructionIndex copy_in_done = -1;
  InstructionIndex copy_out_start = -1;
  InstructionIndex copy_out_done = -1;  // may be the number of instructions: after the last one
  bool cross_program_prefetch = false;
  std::vector<CopySlice> copy_in_slices;  // empty if the copy in is one piece

  friend bool operator==(const Interval&, const Interval&) = default;
};

// A mapping of one program; see Mapping in mapping.proto.
struct Mapping {
  std::vector<Interval> intervals;                   // ascending by (first, buffer)
  IndexVector<AccessIndex, uint8_t> in_fast_memory;  // by access: 1, or 0 if it is in HBM
  std::string solver;                                // what made the mapping, for people

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// The compiler's own placement of a program, the default. It has two prices. They differ where a
// mapping cannot express the compiler's module; docs/cost-model.md says how.
struct Baseline {
  // Price of the compiler's module as it stands, cycles: the price of a program that is left alone.
  // A mapping is better than the default if it takes fewer cycles than this.
  double compiled_cycles = 0;

  // The part of compiled_cycles that the module waits for copies.
  double stall_cycles = 0;

  // Price of `mapping` by the simulator, cycles; 0 if the program's file does not say.
  double mapped_cycles = 0;

  // False if `mapping` has no addresses: its offsets mean nothing, and it is not valid.
  bool packed = false;

  Mapping mapping;

  // Where the mapping had to deviate from the module, one line each, for people.
  std::vector<std::string> notes;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_TYPES_H_
