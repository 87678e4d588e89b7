// Original modules with correct placements, one for each construct. Tests change them into
// incorrect ones.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_

#include "absl/strings/string_view.h"

namespace mallocmuzero::place_check {

struct PlacedCase {
  absl::string_view name;
  absl::string_view original;
  absl::string_view placed;
};

// Both are texts for ModuleFromText. Fast memory is space 1.
extern const PlacedCase kChain;   // Fusions, bitcasts, copies in and out, a constant.
extern const PlacedCase kUpdate;  // A buffer that is updated in place, copied before and after.
// A carried value in fast memory, and a second copy of an invariant.
extern const PlacedCase kLoop;
extern const PlacedCase kBranches;  // A conditional whose operands and result are in fast memory.
extern const PlacedCase kPrefetch;  // A cross-program prefetch.
extern const PlacedCase kNested;    // Nested fusions, several outputs, a custom call.
extern const PlacedCase kDonated;   // A parameter that the program overwrites with its result.
// Elementwise updates of copies, which the compiler lists as aliasing.
extern const PlacedCase kListed;
// An asynchronous all-gather, whose operand is read meanwhile.
extern const PlacedCase kGather;
// An asynchronous all-gather as a chain of fusions, as the compiler writes it for v5e.
extern const PlacedCase kGatherChain;
// Such a chain that goes through a loop, and whose operand is read afterwards.
extern const PlacedCase kGatherLoop;
// An asynchronous permute of slices, which fills an array in place.
extern const PlacedCase kPermute;
// One that fills two arrays with slices of two.
extern const PlacedCase kPermuteOfTwo;

// A send and a recv, whose arrays stay in HBM.
extern const PlacedCase kTransfer;

// A constant of a loop's body that is copied before the loop.
extern const PlacedCase kLoopConstant;

inline constexpr const PlacedCase* kCases[] = {
    &kChain,      &kUpdate,  &kLoop,         &kBranches, &kPrefetch,
    &kNested,     &kDonated, &kListed,       &kGather,   &kGatherChain,
    &kGatherLoop, &kPermute, &kPermuteOfTwo, &kTransfer, &kLoopConstant};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_
