// Checks that a placed module computes what the original computes. The check shares no code with
// the placer whose modules it judges.
//
// Both are XLA's modules, scheduled. In the original every array is in HBM. In the placed one some
// layouts have the memory space of fast memory, and the schedule contains copies. The compiler
// takes the placed module as it is (memory-space assignment off), so only this check can find an
// error.
//
// The placed module may differ from the original in these ways:
//   - Arrays may have another memory space, 0 <-> n, where a value may live in fast memory.
//   - Copies (copy-start, copy-done) may be added. Copies in pieces may not: the compiler packs
//     each piece by itself, so that the pieces join to no array.
//   - Bitcasts, get-tuple-elements and tuples may be added, removed and moved.
//   - A loop's carried tuple or a branch's operand may have more elements behind the original ones.
//     They are second copies of values, and the same in every pass.
//   - Ids, names of computations, names inside fused computations, metadata and cross-program
//     prefetches may differ.
//   - A fusion may state more aliases of operands and results, if the backend_config of the
//     original lists them (aliases.h).
//   - backend_config may differ, except that a custom call must keep it, and a loop must keep it or
//     lose it.
//
// All other instructions are kept: each exactly once, with its name, in its computation and in its
// order.
//
// Values. Every array that a kept instruction of the original makes is a value of its own. Copies,
// bitcasts, tuples and elements pass values on. Each kept instruction of the placed module must get
// the values that it gets in the original. Then it makes the same values, and so on to the result.
// Loops are proved by induction: their carried values are assumed to be the original's at the start
// of a pass, and must then be so at its end. A bitcast passes on bytes.
//
// Memory. These values share a buffer:
//   - An in-place update and its operand: dynamic-update-slice, scatter, a permute of slices,
//     fusions that end in one, output_operand_aliasing (in_place.h has all).
//   - A loop's initial value, parameter, root and result.
//   - A branch's root and the conditional's result.
//   - A parameter and a result of the program that input_output_alias pairs.
//
// An asynchronous collective works on its arrays where they are, from its start to its done. It
// begins with an all-gather-start or a collective-permute-start, or it is a chain of fusions. The
// first fusion has the custom call AsyncCollectiveStart as its root, the last AsyncCollectiveDone.
// The fusions between pass the arrays on in place, and loops carry them. Each fusion has the
// collective in it. No copy may read an array in flight: with the copy, the chain would wait for
// bytes that arrive elsewhere.
//
// The walk runs the placed schedule and tracks which value each buffer holds. It runs each loop
// body and each branch once, at its place in the schedule. One pass of a body is enough: the body
// only sees the values that it gets, and the check requires that it returns current values.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/enums.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero {

enum class PlacedRule : uint8_t {
  // The modules themselves. If a module breaks these rules, the check stops.
  // In both modules, ids refer to something that exists, operands and callees come first, shapes
  // are valid, and every body, condition and branch is called from one place and is not fused.
  kMalformedOriginal,
  kMalformedPlaced,

  // Parts that must not change.
  kModuleChanged,     // The module's own fields are the same: aliases, entry layout, ...
  kDropped,           // Every kept instruction exists exactly once.
  kExtraInstruction,  // Added instructions copy, pass on, or are constants in HBM.
  // Everything but operands and shape is the same: opcode, constants, window, dimensions.
  kAttributes,
  kShapeChanged,       // The shape is the same except for memory spaces.
  kCalledComputation,  // The computations that fusions, reductions, ... call are the same.
  kOrderChanged,       // Kept instructions are in the original order.
  kControlDependency,  // Control predecessors run first.

  // Values.
  kOperandValue,  // A kept instruction gets the same values as in the original.
  kRootValue,     // The results of the program and of each condition, branch and call are the same.
  kCarriedValue,  // A pass of a loop hands on the same values; added elements do not change.

  // Schedule.
  kSchedule,       // The sequence of each computation has each of its instructions exactly once.
  kScheduleOrder,  // Operands run before their users.
  kCopyPair,       // Each start has one done, and nothing else reads the start.

  // Shapes and spaces.
  kCopyShape,       // Destination, source and operand of a copy have the same shape.
  kForwardedShape,  // Tuples, elements and bitcasts fit their operands, spaces included.
  kCallShape,       // Operands, parameters and roots of loops, branches and calls agree.
  kFusedSpace,      // A fused computation's parameters and root have the spaces of its fusion.
  kStatedShape,     // Program shapes and operand_shapes_with_layout state the actual shapes.
  kSpace,           // Only spaces 0 and n are exchanged. No constant is in fast memory.
  kEntrySpace,      // The program's parameters and results are in their original spaces.

  // Memory.
  kAliasSpace,            // Values that share a buffer are in the same space.
  kStaleRead,             // A buffer that is read holds the value that the reader needs.
  kReadOnly,              // No instruction overwrites a constant or an undonated parameter.
  kWriteDuringCopy,       // No instruction writes to the source or destination of a copy in flight.
  kMoveInFlight,          // No copy reads an array on which a collective in flight works.
  kCapacity,              // Live values fit into fast memory.
  kCrossProgramPrefetch,  // It copies an entry parameter and is listed in the module, once.
};

inline constexpr int kPlacedRuleCount = Underlying(PlacedRule::kCrossProgramPrefetch) + 1;

// The check stops listing violations after this many.
inline constexpr size_t kMaxPlacedViolations = 1000;

// The longest message of a violation, in bytes.
inline constexpr size_t kMaxViolationBytes = 2000;

// A stable name for people and JSON, such as "write_during_copy".
absl::string_view PlacedRuleName(PlacedRule rule);

// A rule that the placed module breaks.
struct PlacedViolation {
  PlacedRule rule;

  // One line, which names computations and instructions of the placed module. At most
  // kMaxViolationBytes of valid UTF-8; of a longer line the beginning and the end.
  std::string message;
};

// The chip, and exceptions from the rules.
struct PlacedCheckOptions {
  // The n of S(n) for fast memory; not 0.
  int64_t fast_memory_space = 1;

  // Bytes of fast memory for tensors.
  int64_t capacity_bytes = 0;

  // Every buffer takes a multiple of this many bytes; 1 or more.
  int64_t alignment_bytes = 1;

  // If true, kept instructions may be in any order that respects their dependencies. Instructions
  // with effects outside the program must keep their order.
  bool allow_reordering = false;
};

// Result of ExaminePlaced.
struct PlacedCheck {
  // Every broken rule. If it is empty, the placed module computes what the original does.
  std::vector<PlacedViolation> violations;

  // The most bytes of fast memory that live values take at the same time, and the instruction that
  // runs then. Because of fragmentation, a packing may need more. 0 if the check stopped before the
  // walk.
  int64_t peak_bytes = 0;
  std::string peak_instruction;
};

// Checks a placed module. Both modules may contain anything, malformed data included. Takes time
// O(n log n) in the size n of both modules if tuples are small and few operations run at a time,
// else longer.
PlacedCheck ExaminePlaced(const xla::HloModuleProto& original, const xla::HloModuleProto& placed,
                          const PlacedCheckOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_CHECK_PLACED_H_
