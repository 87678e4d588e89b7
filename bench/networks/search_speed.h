// How fast the search is, with a network, and where its time goes.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_SEARCH_SPEED_H_
#define MALLOCMUZERO_BENCH_NETWORKS_SEARCH_SPEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"

namespace mallocmuzero::bench {

struct SearchSpeedOptions {
  // ValidateNetworkConfig must say OK.
  v1::NetworkConfig network;
  EvaluationOptions evaluation;

  uint32_t simulations = 1;
  uint32_t batch = 1;    // searches in step on one thread
  uint32_t threads = 1;  // each with a batch of its own, all with the same weights
  double seconds = 1;    // for each speed; a positive number
};

// Simulations a second, all threads together, from the median time of a batch of searches.
// Evaluations of roots are left out.
struct SearchSpeed {
  double search = 0;
  double network_only = 0;  // the same batches without a search
  double tree_only = 0;     // with TrivialModel
  double tree_share = 0;    // of the time of `search`, not in the network; 0 to 1
};

// Searches with random weights, from random observations. InvalidArgument, one line, if there is no
// such search or device, or if the search takes more memory than a measurement should; otherwise
// errors are those of Network and of OnDevice.
absl::StatusOr<SearchSpeed> MeasureSearchSpeed(const SearchSpeedOptions& options);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_SEARCH_SPEED_H_
