// Originals and right placements of them, one for each construct. Tests edit them into wrong ones.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_

#include "absl/strings/string_view.h"

namespace mallocmuzero::place_check {

struct PlacedCase {
  absl::string_view name;
  absl::string_view original;
  absl::string_view placed;
};

// Texts of ModuleFromText. Fast memory is space 1.
extern const PlacedCase kChain;     // Fusions, bitcasts, copies in and out, a constant.
extern const PlacedCase kUpdate;    // A buffer that is updated in place, copied before and after.
extern const PlacedCase kLoop;      // Carried value in fast memory, second copy of an invariant.
extern const PlacedCase kBranches;  // A conditional whose operands and result are in fast memory.
extern const PlacedCase kSlices;    // A copy in two pieces, and one of a byte view in three.
extern const PlacedCase kPrefetch;  // A cross-program prefetch.
extern const PlacedCase kNested;    // Nested fusions, several outputs, a custom call.
extern const PlacedCase kDonated;   // A parameter that the program writes its result over.
extern const PlacedCase kListed;    // Elementwise updates of copies, which the compiler lists.

inline constexpr const PlacedCase* kCases[] = {
    &kChain, &kUpdate, &kLoop, &kBranches, &kSlices, &kPrefetch, &kNested, &kDonated, &kListed};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_CASES_H_
