// Checks that a placed module computes what the original computes. The check shares no code with
// the placer whose modules it judges.
//
// Both are XLA's modules, scheduled. In the original every array is in HBM. In the placed one some
// layouts have the memory space of fast memory, and copies stand in the schedule. The compiler
// takes the placed one as it is (memory-space assignment off), so nothing else would find an error.
//
// The placed module may differ from the original in these ways:
//   - Arrays may have another memory space, 0 <-> n, where a value may live in fast memory.
//   - Moves may be added: copies (copy-start, copy-done) and asynchronous slices. A slice is an
//     async-start whose computation is one slice, and its async-done. A custom call "ConcatBitcast"
//     joins slices again.
//   - Bitcasts, get-tuple-elements and tuples may come, go and move.
//   - A loop's carried tuple or a branch's operand may have more elements behind the others. They
//     are second copies of values and the same in every pass.
//   - Ids, names of computations, names inside fused computations, metadata and cross-program
//     prefetches may differ.
//   - A fusion may state more aliases of operands and results, if the backend_config of the
//     original lists them (aliases.h).
//   - backend_config may differ, except that a custom call keeps it and a loop keeps or loses it.
//
// All other instructions are kept: each once, by its name, in its computation and in its order.
//
// Values. Every array that a kept instruction of the original makes is a value of its own. Moves,
// bitcasts, tuples and elements pass values on. Each kept instruction of the placed module must get
// the values that the original's gets. Then it makes the same ones, and so on to the result. A loop
// is proved by induction: its carried values are assumed to be the original's at the start of a
// pass, and must be so at its end. A bitcast passes on bytes. Slices are ranges of bytes, which
// must join to all of them, in order.
//
// Memory. These values share a buffer:
//   - An in-place update and its operand: dynamic-update-slice, scatter, fusions that end in one,
//     output_operand_aliasing.
//   - A loop's initial value, parameter, root and result.
//   - A branch's root and the conditional's result.
//   - A parameter and a result of the program that input_output_alias pairs.
//
// The walk runs the placed schedule and tracks which value each buffer holds. It runs each loop
// body and each branch once, where it stands. One pass of a body is enough: the body sees only what
// it is handed, and it must hand on current values at its end as at its start.

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
  // The modules as such. A module that breaks these is judged no further.
  kMalformedOriginal,  // Ids name what exists, operands and callees come first, shapes are valid,
  kMalformedPlaced,    // and every body, condition and branch is called from one place.

  // Parts that must not change.
  kModuleChanged,      // The module's own fields stay: aliases, entry layout, ...
  kDropped,            // Every kept instruction is there, once.
  kExtraInstruction,   // No instruction is added that computes.
  kAttributes,         // All but operands and shape stays: opcode, constants, window, dimensions.
  kShapeChanged,       // The shape stays but for memory spaces.
  kCalledComputation,  // The computations that fusions, reductions, ... call stay.
  kOrderChanged,       // Kept instructions stay in their order.
  kControlDependency,  // Control predecessors run first.

  // Values.
  kOperandValue,  // A kept instruction gets the values it got in the original.
  kRootValue,     // The results of the program, a condition, a branch and a call stay.
  kCarriedValue,  // A pass of a loop hands on the same values; added elements do not change.
  kSliceTiling,   // Slices are whole ranges of bytes and join to all of them, in order.

  // Schedule.
  kSchedule,       // Each computation has a sequence with each of its instructions once.
  kScheduleOrder,  // Operands run before their users.
  kCopyPair,       // Each start has one done, and nothing else reads the start.

  // Shapes and spaces.
  kCopyShape,       // A move's destination, source and operand are of one shape.
  kForwardedShape,  // Tuples, elements and bitcasts fit their operands, spaces included.
  kCallShape,       // Operands, parameters and roots of loops, branches and calls agree.
  kFusedSpace,      // A fused computation's parameters and root are where the fusion has them.
  kStatedShape,     // Program shapes and operand_shapes_with_layout say what is there.
  kSpace,           // No space but 0 and n is given or taken. No constant is in fast memory.
  kEntrySpace,      // The program's parameters and results stay where they were.

  // Memory.
  kAliasSpace,            // Values that share a buffer are in one space.
  kStaleRead,             // A buffer that is read holds the value that is meant.
  kWriteDuringCopy,       // No instruction writes to the source or destination of a copy in flight.
  kCapacity,              // Live values fit into fast memory.
  kCrossProgramPrefetch,  // It copies an entry parameter and is listed in the module, once.
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

  // Bytes of fast memory for tensors and `scoped_bytes` together.
  int64_t capacity_bytes = 0;

  // Every buffer takes a multiple of this many bytes; 1 or more.
  int64_t alignment_bytes = 1;

  // Fast memory that every instruction takes for itself, bytes.
  int64_t scoped_bytes = 0;

  // Kept instructions may stand in another order that respects what they need, except those with
  // effects outside the program.
  bool allow_reordering = false;

  // ConcatBitcast may name pieces in another order than that of their bytes, as in the compiler's
  // own modules, where each piece knows its place. It is not known whether the compiler takes that
  // from a module that it has not placed itself.
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
