// Checks whether a machine could run a mapping. The checker is naive, written to be obviously right
// rather than fast. It shares no code with the game or the solvers whose mappings it checks.
//
// Points in time. Each instruction i has two: the point just before it, then the instruction.
//
//        before i                                         i runs
//   ... [wait for copies | queue copies | wait for those] [its accesses, in their order] ...
//         queued earlier                   that end here
//
// This is the order of Simulate. A copy queued just before i may read the value that another copy
// finished just before i, and may occupy its bytes. If a copy both starts and ends just before i, i
// is the first that can use its value.
//
// An interval occupies its bytes as follows (c: copy, v: instructions that can use the value):
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
// Values. Every write or update makes a new version of its buffer. The walk tracks which version
// HBM and each interval hold. It runs every loop body twice, because a second pass may need a
// version that the first pass has lost; a loop is assumed to run at least twice. Nested bodies are
// walked 2^depth times, but bodies more than kMaxDoubledLoopDepth deep only once more.
//   - At the start HBM holds the live-in buffers, and the buffers whose value was made by something
//     that is not an access: no loop gives them a value, and their first access is not a write.
//   - A write in fast memory makes HBM stale; a write in HBM makes intervals stale.
//   - When the program waits for a write-back, HBM gets the version that was current when the
//     write-back was queued.
//   - If an interval does not cover a loop from kLoopBegin to kLoopEnd, other intervals may use its
//     bytes for part of a pass. At the back edge, such an interval holds no value.
//
// Collectives. From its start to its done, an asynchronous collective works on its buffers where
// they are. The accesses by the instructions from start to done are in one memory. An interval that
// contains one of these instructions contains all. No copy of the buffer runs: it is done at the
// point before the start, or starts after the point before the done.
//
// Loops. A carried group has a place at four points, two at each of the markers b and e:
//
//      initial | parameter            root | result
//   -----------b----------- body ---------e------------        entry:     initial -> parameter
//              ^                          |                    back edge: root    -> parameter
//              +---------back edge--------+                    exit:      root    -> result
//
//   The group is in fast memory if an interval of the parameter contains b, or one of the result
//   contains e. (If the parameter is also the initial buffer, or the result also the root, the
//   interval must continue after the marker.) Then each of the four must have an interval that
//   contains its marker; all are at one offset, and two that meet at a marker share its bytes
//   there. The value passes in fast memory only: a copy of it in HBM does not pass, unless the
//   buffer stays the same. Otherwise the group is in HBM. Then initial value and root must be
//   current in HBM at their markers, with their write-backs finished.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/enums.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

enum class Rule : uint8_t {
  // Form of the mapping. If one of these rules is broken, no others are checked.
  kAccessCount,     // in_fast_memory has one entry for each access
  kUnknownBuffer,   // every interval is of a buffer of the program
  kIntervalBounds,  // 0 <= first <= last < instructions
  // copies are inside their interval, in the order of the picture, and have a start and an end
  kCopyPositions,
  kIntervalOrder,  // intervals ascend by (first, buffer)

  // Geometry.
  kAlignment,    // offsets are multiples of the hardware's alignment
  kCapacity,     // all bytes are in fast memory
  kOverlap,      // no two intervals occupy the same byte at the same time
  kLiveRange,    // intervals are inside the live range; only a write-back may end after it
  kPinnedToHbm,  // pinned buffers have no interval
  // at most one interval, from 0, of the live-in buffer that the baseline marks
  kCrossProgramPrefetch,
  kCopyAcrossLoop,  // a copy, and each slice of it, starts and ends in the same innermost loop
  // from the start of a collective to its done, its buffers stay in their memory and are not copied
  kMoveInFlight,
  kCarriedGroupSpace,   // a group in fast memory has intervals at all of its four points
  kCarriedGroupOffset,  // and has the same offset at all of them

  // Values.
  kNoInterval,         // an access in fast memory has an interval that contains its instruction
  kAmbiguousInterval,  // a write or update has only one, and so does a group's value at a marker
  kFastMemoryStale,    // a read or update in fast memory finds the current version in an interval
  kCopyInPending,      // the copy from HBM that fills an interval is done before an access uses it
  kHbmStale,           // a read or update in HBM finds the current version there
  kCopySourceStale,    // the source of a copy holds the current version when the copy is queued
  kWriteDuringCopy,    // no write goes to the source or the destination of a copy in flight
  kCarriedValueLost,  // a group's value is current in the group's memory where the loop hands it on
  kLiveOutNotInHbm,   // live-out buffers are current in HBM at the end
};

inline constexpr int kRuleCount = Underlying(Rule::kLiveOutNotInHbm) + 1;

// Bodies of loops that are nested deeper than this are walked only once more, which bounds the
// walks of one body to 2^8.
inline constexpr int kMaxDoubledLoopDepth = 8;

// Validate stops listing violations after this many, because one mistake can break the rules at
// thousands of accesses.
inline constexpr size_t kMaxViolations = 1000;

// A stable name for people and JSON, such as "write_during_copy".
absl::string_view RuleName(Rule rule);

// A rule that the mapping breaks.
struct Violation {
  Rule rule;

  // One line with sizes in bytes, which names instructions and buffers (by their first tensor) with
  // their indices.
  std::string message;
};

// Every broken rule of the mapping; if it is empty, the mapping can run. The mapping may hold any
// numbers. Each pair of a rule and its subject (interval, access or group) is reported once, in the
// pass that meets it first. If a fault leaves no value behind, such as a copy of nothing, it is
// reported there, and the walk goes on as if the value were right.
// Time: O(intervals x (intervals + slices) + 2^depth x instructions x intervals).
std::vector<Violation> Validate(const Program& program, const Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_VALIDATE_H_
