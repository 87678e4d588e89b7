// Where the numbers of an observation stand. Blocks follow one another in the order of this file.

#ifndef MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_
#define MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "env/action.h"
#include "mallocmuzero/v1/observation.pb.h"

namespace mallocmuzero {

// ObservationSpec.version.
inline constexpr uint32_t kObservationVersion = 2;

// The layout as a message, with names.
v1::ObservationSpec MakeObservationSpec();

namespace observation {

// "memory" [2, kTimes, kAddressBins]: shares of the bytes of an address bin, for instructions
// around the current one (offset kTimeOffsets[t]).
//   taken: that are taken at that instruction or later: what is free there is free from then on.
//          Before the first instruction everything is taken.
//   held:  that are not, but hold a value that is used again at that instruction or later.
// "capacity" [kTimes]: 1 everywhere. Trained networks have these inputs.
inline constexpr int32_t kTimeOffsets[] = {-128, -64, -32, -16, -8, -4, -2, -1, 0,  1,  2,   3,
                                           4,    6,   8,   12,  16, 24, 32, 48, 64, 96, 128, 192};
inline constexpr size_t kTimes = sizeof(kTimeOffsets) / sizeof(kTimeOffsets[0]);
inline constexpr size_t kAddressBins = 32;
enum MemoryChannel : uint8_t { kTaken, kHeld, kMemoryChannels };

// "bandwidth" [kSpans, kBandwidthFeatures]: the last, and the next, 1, 2, 4, ... 128 instructions.
inline constexpr size_t kSpans = 8;
enum BandwidthFeature : uint8_t {
  kSpareBefore,  // bytes of HBM bandwidth that neither instructions nor copies in used
  kFitsBefore,   // the same compared with the current access's buffer
  kBusyBefore,   // share of what instructions left that copies in used
  kIdleAfter,    // bytes that instructions will leave if they access HBM
  kFitsAfter,    // the same compared with the buffer and the write-backs on their way
  kBandwidthFeatures,
};

// "decision" [kDecisionFeatures]: the current access only.
enum DecisionFeature : uint8_t {
  kMayCopy,
  kMayNotCopy,  // NoCopy is legal
  kMayDrop,
  kCopyDistance,   // instructions since the point at which a legal Copy of a read is queued
  kCopyHasStart,   // there is such a point
  kSavingNow,      // with the instruction's accesses decided so far as decided, others in HBM
  kSavingWithAll,  // the same, those to come in fast memory
  kFastSoFar,      // share of the instruction's accesses decided so far that are in fast memory
  kLastWasFast,    // the buffer's last access was in fast memory
  kDecisionFeatures,
};

// "accesses" [1 + kWindow, kAccessFeatures]: the current access, then the next ones that are not in
// HBM by rule. Rows behind the program's last one are 0.
inline constexpr size_t kWindow = 32;
enum AccessFeature : uint8_t {
  kIsRead,
  kIsWrite,
  kIsUpdate,
  kBytes,        // of the buffer
  kBytesLinear,  // the same as plain share of the fast memory
  kTraffic,      // bytes accessed, share of the buffer
  kSaving,       // in fast memory instead of HBM, the instruction's others in HBM
  kSavingLast,   // the same, the others in fast memory
  kSavingLater,  // what all later accesses of the same value save
  kInstructionCycles,
  kExecutions,
  kSinceLast,  // instructions since the buffer's last access
  kIsFirst,    // it has none
  kUntilNext,  // instructions until its next access
  kIsLast,     // it has none
  kRemaining,  // accesses of the buffer to come
  kGapBefore,  // bandwidth left since the last access compared with the buffer
  kGapAfter,   // bandwidth left until the next access compared with the buffer
  kLiveIn,
  kLiveOut,
  kMustReachHbm,  // of a write: fast memory only is not enough
  kKeepSpan,      // of a write: instructions for which fast memory only must keep it
  kTensors,       // that share the buffer
  kLoopDepth,
  kFromOutside,    // the innermost loop does not make the value
  kCarried,        // part of a loop's carried tuple that may be in fast memory
  kFeedsGroup,     // in fast memory only it commits a carried group
  kMayTakeOver,    // it can take a carried value over from outside the loop
  kPrefetched,     // in the cross-program prefetch
  kScoped,         // always 0; trained networks have this input
  kSiblings,       // accesses of the instruction
  kHoldPrice,      // of holding the value since the access before, 0 if it cannot be (Hold)
  kHoldLoad,       // what is taken meanwhile by holds of a higher price
  kNextHoldPrice,  // the same until the buffer's next access
  kNextHoldLoad,
  kStaticFeatures,  // those before do not change in a game
  kIsThere = kStaticFeatures,
  kInFastMemory,  // the buffer's value now
  kHbmCurrent,
  kHbmPending,  // its write-back is on its way
  kAhead,       // instructions from now
  kSameBuffer,  // as the current access
  kSameInstruction,
  kAccessFeatures,
};

// "actions" [kLastActions, 3]: which action the last decisions took, latest first.
// "recent" [kRecent, kRecentFeatures]: the last accesses not in HBM by rule, latest first.
inline constexpr size_t kLastActions = 8;
inline constexpr size_t kRecent = 8;
enum RecentFeature : uint8_t {
  kRecentIsThere,
  kRecentFast,
  kRecentIsRead,
  kRecentBytes,
  kRecentSaving,
  kRecentFeatures,
};

// "program" [kProgramFeatures]: the whole game.
enum ProgramFeature : uint8_t {
  kProgress,       // share of the accesses that are decided
  kReturn,         // so far
  kInitialReturn,  // before the first decision
  kStalls,         // share of the all-HBM cycles waited so far
  kTakenNow,       // share of the fast memory
  kPendingOut,     // bytes on their way to HBM
  kDefaultReturn,  // of the compiler's own placement, 0 if there is none
  kAllFastReturn,  // everything in fast memory, no copies
  kInstructions,
  kAccesses,
  kBufferBytes,   // of all buffers
  kTrafficTimes,  // bytes accessed in one run, over the fast memory
  kLoopShare,     // share of the all-HBM cycles spent in loops
  kFillTime,      // to fill the fast memory from HBM, share of the all-HBM cycles
  kReadRate,      // of the fast memory over the HBM's
  kWriteRate,
  kFlopsPerByte,  // peak flops over HBM rate
  kScopedInFast,  // always 0; trained networks have this input
  kProgramFeatures,
};

// Position of each block in the row, and floats in all.
inline constexpr size_t kMemoryOffset = 0;
inline constexpr size_t kCapacityOffset = kMemoryOffset + kMemoryChannels * kTimes * kAddressBins;
inline constexpr size_t kBandwidthOffset = kCapacityOffset + kTimes;
inline constexpr size_t kDecisionOffset = kBandwidthOffset + kSpans * kBandwidthFeatures;
inline constexpr size_t kAccessesOffset = kDecisionOffset + kDecisionFeatures;
inline constexpr size_t kActionsOffset = kAccessesOffset + (1 + kWindow) * kAccessFeatures;
inline constexpr size_t kRecentOffset = kActionsOffset + kLastActions * kActionCount;
inline constexpr size_t kProgramOffset = kRecentOffset + kRecent * kRecentFeatures;
inline constexpr size_t kSize = kProgramOffset + kProgramFeatures;

}  // namespace observation

// Floats in an observation.
inline constexpr size_t kObservationSize = observation::kSize;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_
