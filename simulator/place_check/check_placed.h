// Does a placed module compute what the original computes? A checker that shares no code with the
// placer whose modules it judges.
//
// Both are XLA's modules, scheduled. In the original every array is in HBM; in the placed one some
// layouts have the memory space of fast memory, and copies stand in the schedule. The compiler
// takes the placed one as it is (memory-space assignment off), so nothing else would find an error.
//
// What may differ:
//   - memory spaces of arrays, 0 <-> n, where a value may live in fast memory;
//   - moves: copy-start / copy-done, and asynchronous slices (an async-start whose computation is
//     one slice, async-done) that a custom call "ConcatBitcast" joins again;
//   - bitcasts, get-tuple-elements and tuples, which may come, go and move;
//   - elements behind the others in a loop's carried tuple or a branch's operand: second copies of
//     values, the same in every pass;
//   - ids, names of computations, names inside fused computations, metadata, backend_config (which
//     a custom call keeps and a loop keeps or loses), cross-program prefetches.
// All other instructions are kept: each once, by its name, in its computation and in its order.
//
// Values. Every array that a kept instruction of the original makes is a value of its own; moves,
// bitcasts, tuples and elements pass values on. Each kept instruction of the placed module must get
// the values that the original's gets; then it makes the same ones, and so on to the result. What
// a loop carries is assumed to be the same at the start of a pass, and must be the same at its end.
// A bitcast passes on bytes: slices are ranges of bytes, which must join to all of them, in order.
//
// Memory. Values that share a buffer: an in-place update and its operand (dynamic-update-slice,
// scatter, fusions that end in one, output_operand_aliasing), a loop's initial value, parameter,
// root and result, a branch's root and the conditional's result, input_output_alias. The walk runs
// the placed schedule, loop bodies and each branch once where they stand, and knows which value
// each buffer holds. One pass of a body is enough: it sees nothing but what it is handed, and what
// is handed on must be current at its end as it was at its start.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero {

enum class PlacedRule : uint8_t {
  // The modules as such. One that breaks these is judged no further.
  kMalformedOriginal,  // ids name what exists, operands and callees come first, shapes make sense,
  kMalformedPlaced,    // every body, condition and branch is called from one place

  // What must be as it was.
  kModuleChanged,      // the module's own fields: aliases, entry layout, ...
  kDropped,            // every kept instruction is there, once
  kExtraInstruction,   // nothing is added that computes
  kAttributes,         // opcode, constants, window, dimensions, ...: all but operands and shape
  kShapeChanged,       // its shape but for memory spaces
  kCalledComputation,  // what fusions, reductions, ... call
  kOrderChanged,       // kept instructions in their order
  kControlDependency,  // control predecessors run first

  // Values.
  kOperandValue,  // a kept instruction gets the values it got
  kRootValue,     // the results of the program, a condition, a branch, a call
  kCarriedValue,  // what a pass of a loop hands on; added elements do not change
  kSliceTiling,   // slices are whole ranges of bytes and join to all of them, in order

  // Schedule.
  kSchedule,       // a sequence for each computation, each instruction in it once
  kScheduleOrder,  // operands run before their users
  kCopyPair,       // each start has one done, which nothing but the done reads

  // Shapes and spaces.
  kCopyShape,       // a move's destination, source and operand are of one shape
  kForwardedShape,  // tuples, elements, bitcasts: shapes of operands, spaces included
  kCallShape,       // loops, branches, calls: shapes of operands, parameters and roots agree
  kFusedSpace,      // a fused computation's parameters and root are where the fusion has them
  kStatedShape,     // program shapes and operand_shapes_with_layout say what is there
  kSpace,           // no space but 0 and n is given or taken; no constants in fast memory
  kEntrySpace,      // the program's parameters and results stay where they were

  // Memory.
  kAliasSpace,            // values that share a buffer are in one space
  kStaleRead,             // a buffer that is read holds the value that is meant
  kWriteDuringCopy,       // no write to the source or destination of a copy in flight
  kCapacity,              // live values fit into fast memory
  kCrossProgramPrefetch,  // of an entry parameter, listed in the module, once
};

inline constexpr int kPlacedRuleCount = static_cast<int>(PlacedRule::kCrossProgramPrefetch) + 1;

// The check stops listing after this many.
inline constexpr size_t kMaxPlacedViolations = 1000;

// Stable name for people and JSON, such as "write_during_copy".
absl::string_view PlacedRuleName(PlacedRule rule);

struct PlacedViolation {
  PlacedRule rule;

  // One line that names computations and instructions of the placed module.
  std::string message;
};

struct PlacedCheckOptions {
  // The n of S(n) of fast memory; not 0.
  int64_t fast_memory_space = 1;

  // Bytes of it that are for tensors and for `scoped_bytes`.
  int64_t capacity_bytes = 0;

  // Every buffer takes a multiple of this many bytes; 1 or more.
  int64_t alignment_bytes = 1;

  // What every instruction takes for itself, bytes.
  int64_t scoped_bytes = 0;

  // Kept instructions may stand in another order that respects what they need, except those with
  // effects outside the program.
  bool allow_reordering = false;

  // ConcatBitcast may name pieces in another order than that of their bytes, as in the compiler's
  // own modules, where each piece knows its place. Whether the compiler takes that from a module
  // that it has not placed itself is not known.
  bool allow_pieces_in_any_order = false;
};

struct PlacedCheck {
  // Every broken rule; none: the placed module computes what the original does.
  std::vector<PlacedViolation> violations;

  // The most bytes of fast memory that live values take at a time, without scoped_bytes, and the
  // instruction that runs then. It does not say that addresses without overlap exist: fragmentation
  // may ask for more. 0 where the walk was not reached.
  int64_t peak_bytes = 0;
  std::string peak_instruction;
};

// The modules may hold anything. Time: O(size of both x log of it).
PlacedCheck ExaminePlaced(const xla::HloModuleProto& original, const xla::HloModuleProto& placed,
                          const PlacedCheckOptions& options);

// Its violations only.
std::vector<PlacedViolation> CheckPlaced(const xla::HloModuleProto& original,
                                         const xla::HloModuleProto& placed,
                                         const PlacedCheckOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_
