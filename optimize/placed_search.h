// The loop of `optimize`: place a mapping, have it compiled, learn from the compile, search again.
//
//   compile with everything in HBM, and by default  <--- another limit of scoped memory
//        |
//        v
//   import --> local search --> place --> check --> compile --> the best so far
//     ^                                                |
//     +---- estimates of every compiled module --------+

#ifndef MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_
#define MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/optimize.pb.h"
#include "optimize/placed_search_request.h"

namespace mallocmuzero {

struct PlacedSearchResult {
  v1::OptimizeReport report;

  // The compiled module and the executable of the best round, as the compiler serialises them;
  // those of the default if no round was better. Empty if the request had compiles instead of code
  // and no round was better.
  std::string module;
  std::string executable;
};

// Searches until the deadline, the number of rounds or `stop`. Never worse than the default: that
// is the answer if nothing is better by the compiler's own estimates. Two rounds are under the
// chip's own limit of scoped memory, then one or two under each of other limits, then the rest
// under the best. A round whose module the compiler refuses is reported, and the search goes on
// with less fast memory. If the compiler refuses the program by default, as it does with some that
// need too much scoped memory, there is no default to compare with. Other errors are returned.
absl::StatusOr<PlacedSearchResult> SearchPlacements(const PlacedSearchRequest& request);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_
