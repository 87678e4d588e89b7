// Is a mapping one that a machine could run? A naive checker, written to be obviously right rather
// than fast: it shares no code with the game or the solvers whose mappings it judges.
//
// Points in time. Instruction i has two: what happens just before it, then the instruction.
//
//        before i                                         i runs
//   ... [wait for copies | queue copies | wait for those] [reads, then writes, updates] ...
//         queued earlier                   that end here
//
// This is the order of Simulate: a copy queued just before i may use what another copy finished
// just before i, and may take its bytes; what a copy that starts and ends there finishes, only i
// can use.
//
// An interval owns its bytes as follows (c: copy, v: instructions that can use the value):
//
//   starts with a copy      first = copy_in_start <= copy_in_done: from the point before `first`
//                             cccccc vvvvvvvvvvvvvv
//   starts with a write,    from the instruction `first`
//   or takes over a loop's   vvvvvvvvvvvvvvvvvvvvvv
//   value at its marker
//   ends with a use         to the instruction `last`
//   ends with a write-back  copy_in_done <= copy_out_start <= copy_out_done <= last + 1: to the
//                           later of the instruction `last` and the point before copy_out_done
//                             vvvvvvvvvvvv cccccccccc
//
// Values. Every write or update makes a new version of its buffer. The walk knows which version HBM
// and each interval hold; it runs the schedule with every loop body twice (2^depth walks of nested
// bodies; bodies more than kMaxDoubledLoopDepth deep once more only), so that what a second pass
// needs is missed when the first has lost it. A loop is taken to run at least twice.
//   - At the start HBM holds the live-in buffers and those whose first access is not a write and
//     that get no value from a loop (something that is not an access made them).
//   - A write in fast memory leaves HBM stale, a write in HBM leaves intervals stale.
//   - A write-back gives HBM the version it was queued with, when it is waited for.
//   - The memory of an interval that does not cover a loop from kLoopBegin to kLoopEnd belongs to
//     others for part of a pass: at the back edge it holds no value.
//
// Loops. A carried group stands at four points, its markers b and e:
//
//      initial | parameter            root | result
//   -----------b----------- body ---------e------------        entry:     initial -> parameter
//              ^                          |                    back edge: root    -> parameter
//              +---------back edge--------+                    exit:      root    -> result
//
//   The group is in fast memory if the parameter's interval contains b or the result's contains e
//   (going on after it where the buffer is also the initial or the root one). Then all four have an
//   interval that contains their marker, at one offset, and those that meet at a marker share its
//   bytes there. The value passes in fast memory only: a copy of it in HBM does not pass, unless
//   the buffer stays the same. Otherwise the group is in HBM: initial value and root are current in
//   HBM at their markers, write-backs finished.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

enum class Rule : uint8_t {
  // Shape of the mapping. A mapping that breaks one of these is judged no further.
  kAccessCount,     // in_fast_memory has one entry an access
  kUnknownBuffer,   // every interval is of a buffer of the program
  kIntervalBounds,  // 0 <= first <= last < instructions
  kCopyPositions,   // copies lie in their interval, in the order of the picture, start with end
  kIntervalOrder,   // intervals ascend by (first, buffer)

  // Geometry.
  kAlignment,             // offsets are multiples of the hardware's alignment
  kCapacity,              // all bytes lie in fast memory
  kOverlap,               // no two intervals own a byte at one point in time
  kLiveRange,             // intervals lie in the live range; only a write-back may end after it
  kPinnedToHbm,           // pinned buffers have no interval
  kCrossProgramPrefetch,  // one interval at most, from 0, of the live-in buffer the baseline marks
  kCopyAcrossLoop,        // a copy starts and ends in the same innermost loop
  kCarriedGroupSpace,     // a group in fast memory is there at its four points
  kCarriedGroupOffset,    // and has one offset there

  // Values.
  kNoInterval,         // an access in fast memory has an interval that contains its instruction
  kAmbiguousInterval,  // a write or update has one only, and so has a group's value at a marker
  kFastMemoryStale,    // a read or update in fast memory finds the current version in an interval
  kCopyInPending,      // whose copy from HBM has been waited for
  kHbmStale,           // a read or update in HBM finds the current version there
  kCopySourceStale,    // a copy's source holds the current version when the copy is queued
  kWriteDuringCopy,    // no write touches the source or the destination of a copy in flight
  kCarriedValueLost,   // a group's value is current in the group's space where it passes
  kLiveOutNotInHbm,    // live-out buffers are current in HBM at the end
};

inline constexpr int kRuleCount = static_cast<int>(Rule::kLiveOutNotInHbm) + 1;

// Bodies of loops deeper than this are not doubled again: at most 2^8 walks of one body.
inline constexpr int kMaxDoubledLoopDepth = 8;

// Validate stops listing after this many: one mistake can break thousands of accesses.
inline constexpr size_t kMaxViolations = 1000;

// Stable name for people and JSON, such as "write_during_copy".
absl::string_view RuleName(Rule rule);

struct Violation {
  Rule rule;

  // One line that names instructions and buffers (their first tensor) with indices, and bytes.
  std::string message;
};

// Every broken rule of the mapping; none: it can run. Each (rule, interval, access or group) is
// reported once, in the pass that meets it first; a fault that leaves no value behind (a copy of
// nothing, say) is reported where it happens and the value assumed good afterwards. The mapping may
// hold anything. Time: O(intervals x (intervals + slices) + 2^depth x instructions x intervals).
std::vector<Violation> Validate(const Program& program, const Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_
