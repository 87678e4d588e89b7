// The loop of `optimize`: find a mapping, place it, compile it, learn from the compile, and search
// again.
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

// Result of SearchPlacements.
struct PlacedSearchResult {
  v1::OptimizeReport report;

  // The compiled module and the executable of the best round, serialised by the compiler. They are
  // those of the default if no round was better. Empty if no round was better and the request had
  // compiled modules instead of code.
  std::string module;
  std::string executable;
};

// Searches until the deadline, the number of rounds or `stop`. The result is never worse than the
// default by the compiler's own estimates, because the default is returned if nothing is better.
// Two rounds run under the chip's own limit of scoped memory, then one under each other limit, and
// the remaining ones under the best limit. If the compiler refuses a round's module, the
// refusal is reported and the search continues with less fast memory. The compiler may also refuse
// the default, as it does for some programs that need too much scoped memory. Then the result is
// the fastest module that was compiled. If the compiler refuses the program with everything in HBM,
// nothing can be placed, and only the defaults under the limits are compared. A compile that does
// not begin, such as one that is stopped while the compiler starts, is a refusal, too, unless it is
// one of the first two. All other errors end the search: they are returned, unless something was
// better than the default before. Then they are a note of the report.
absl::StatusOr<PlacedSearchResult> SearchPlacements(const PlacedSearchRequest& request);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_
