// The layout of an observation. Its blocks follow one another in the order of this file.

#ifndef MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_
#define MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "env/action.h"
#include "mallocmuzero/v1/observation.pb.h"

namespace mallocmuzero {

// ObservationSpec.version.
inline constexpr uint32_t kObservationVersion = 3;

// The layout as a message, with names.
v1::ObservationSpec MakeObservationSpec();

namespace observation {

// "memory" [2, kTimes, kAddressBins]: shares of the bytes of an address bin. Row t is about the
// instruction at distance kTimeOffsets[t] from the current one.
//   taken: bytes that are taken at that instruction or later. All bytes are taken before the first
//          instruction.
//   held:  bytes that are not taken, but hold a value that is used at that instruction or later.
inline constexpr int32_t kTimeOffsets[] = {-128, -64, -32, -16, -8, -4, -2, -1, 0,  1,  2,   3,
                                           4,    6,   8,   12,  16, 24, 32, 48, 64, 96, 128, 192};
inline constexpr size_t kTimes = sizeof(kTimeOffsets) / sizeof(kTimeOffsets[0]);
inline constexpr size_t kAddressBins = 32;
enum MemoryChannel : uint8_t { kTaken, kHeld, kMemoryChannels };

// "incumbent" [kIncumbentFeatures]: the game that is shown (ShownIncumbent); all 0 if none is.
enum IncumbentFeature : uint8_t {
  kIncumbentIsShown,
  kLead,        // return so far minus the incumbent's up to the same access
  kLeadSign,    // -1, 0 or 1
  kWindowLeft,  // accesses until the player's last decision
  kIncumbentFeatures,
};

// "bandwidth" [kSpans, kBandwidthFeatures]: row s is about the last and the next 2^s instructions.
inline constexpr size_t kSpans = 8;
enum BandwidthFeature : uint8_t {
  kSpareBefore,  // bytes of HBM bandwidth that neither instructions nor copies in used
  kFitsBefore,   // these bytes compared with the current access's buffer
  kBusyBefore,   // share of the bandwidth left by instructions that copies in used
  kIdleAfter,    // bytes that instructions will leave if all their accesses use HBM
  kFitsAfter,    // these bytes compared with the buffer and the running write-backs
  kBandwidthFeatures,
};

// "decision" [kDecisionFeatures]: the current access.
enum DecisionFeature : uint8_t {
  kMayCopy,
  kMayNotCopy,  // NoCopy is legal
  kMayDrop,
  kCopyDistance,   // instructions from the start of the copy that a legal Copy queues
  kCopyHasStart,   // Copy is legal and queues a copy from HBM
  kSavingNow,      // of fast memory, if the instruction's later accesses are in HBM
  kSavingWithAll,  // of fast memory, if the later accesses that may be there are there
  kFastSoFar,      // share of the instruction's accesses decided so far that are in fast memory
  kLastWasFast,    // the buffer's last access was in fast memory
  kDecisionFeatures,
};

// "accesses" [1 + kWindow, kAccessFeatures]: the current access, then the next ones that may be in
// fast memory. Rows after the last access of the program are 0.
inline constexpr size_t kWindow = 32;
enum AccessFeature : uint8_t {
  kIsRead,
  kIsWrite,
  kIsUpdate,
  kBytes,        // of the buffer
  kBytesLinear,  // of the buffer, as a linear share of the fast memory
  kTraffic,      // bytes accessed, share of the buffer
  kSaving,       // of fast memory, if the instruction's other accesses are in HBM
  kSavingLast,   // of fast memory, if the other accesses are there, too
  kSavingLater,  // of fast memory for all later accesses of the value
  kInstructionCycles,
  kExecutions,
  kSinceLast,  // instructions since the buffer's last access
  kIsFirst,    // the buffer has no earlier access
  kUntilNext,  // instructions until its next access
  kIsLast,     // the buffer has no later access
  kRemaining,  // later accesses of the buffer
  kGapBefore,  // bandwidth left since the last access compared with the buffer
  kGapAfter,   // bandwidth left until the next access compared with the buffer
  kLiveIn,
  kLiveOut,
  kMustReachHbm,  // for a write: the value must not be in fast memory only
  kKeepSpan,      // for a write: instructions for which NoCopy keeps the value
  kTensors,       // tensors that share the buffer
  kLoopDepth,
  kFromOutside,    // a loop around the innermost one makes the value, or none does
  kCarried,        // the buffer is in a carried group that may be in fast memory
  kFeedsGroup,     // NoCopy puts a carried group into fast memory
  kMayTakeOver,    // NoCopy can make a carried group take over the initial value
  kPrefetched,     // it uses the cross-program prefetch
  kSiblings,       // accesses of the instruction
  kHoldPrice,      // KeepValue::savings_density, 0 if no value can be kept
  kHoldLoad,       // KeepValue::occupied
  kNextHoldPrice,  // of the buffer's next access
  kNextHoldLoad,
  kStaticFeatures,  // no decision changes the features before this one
  kIsThere = kStaticFeatures,
  kInFastMemory,  // fast memory holds the buffer's value now
  kHbmCurrent,
  kHbmPending,  // the value's write-back runs
  kAhead,       // instructions from now
  kSameBuffer,  // the buffer of the current access
  kSameInstruction,
  kIncumbentFast,  // the incumbent has the access in fast memory: 1, in HBM: -1; 0: none is shown
  kAccessFeatures,
};

// "actions" [kLastActions, 3]: the actions of the last decisions, latest first.
// "recent" [kRecent, kRecentFeatures]: the last accesses that may be in fast memory, latest first.
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

// "program" [kProgramFeatures]: the program and the game as a whole.
enum ProgramFeature : uint8_t {
  kProgress,       // share of the accesses that are decided
  kReturn,         // so far
  kInitialReturn,  // before the first decision
  kStalls,         // share of the all-HBM cycles waited so far
  kTakenNow,       // share of the fast memory
  kPendingOut,     // bytes of write-backs that are queued and not moved
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
  kProgramFeatures,
};

// Position of each block in the row, and the size of the row.
inline constexpr size_t kMemoryOffset = 0;
inline constexpr size_t kIncumbentOffset = kMemoryOffset + kMemoryChannels * kTimes * kAddressBins;
inline constexpr size_t kBandwidthOffset = kIncumbentOffset + kIncumbentFeatures;
inline constexpr size_t kDecisionOffset = kBandwidthOffset + kSpans * kBandwidthFeatures;
inline constexpr size_t kAccessesOffset = kDecisionOffset + kDecisionFeatures;
inline constexpr size_t kActionsOffset = kAccessesOffset + (1 + kWindow) * kAccessFeatures;
inline constexpr size_t kRecentOffset = kActionsOffset + kLastActions * kActionCount;
inline constexpr size_t kProgramOffset = kRecentOffset + kRecent * kRecentFeatures;
inline constexpr size_t kSize = kProgramOffset + kProgramFeatures;

// A brief observation has only what is about the current access: the blocks "decision", the first
// row of "accesses", and "program", in this order.
inline constexpr size_t kBriefAccessOffset = kDecisionFeatures;
inline constexpr size_t kBriefProgramOffset = kBriefAccessOffset + kAccessFeatures;
inline constexpr size_t kBriefSize = kBriefProgramOffset + kProgramFeatures;

}  // namespace observation

// Floats in an observation.
inline constexpr size_t kObservationSize = observation::kSize;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_OBSERVATION_LAYOUT_H_
