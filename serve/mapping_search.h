// The search for one request, without the transport.

#ifndef MALLOCMUZERO_SERVE_MAPPING_SEARCH_H_
#define MALLOCMUZERO_SERVE_MAPPING_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/search/search.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "serve/network_store.h"
#include "serve/request_program.h"

namespace mallocmuzero {

// The settings of all requests.
struct SearchSettings {
  RequestLimits limits;
  uint32_t threads = 1;  // of local search, for one request
  SearchConfig search;   // of the agent
};

// One request, and how to answer it.
struct MappingRequest {
  const v1::FindMappingRequest* request = nullptr;
  absl::Time arrived;                            // at the server, by SteadyNow
  absl::Time deadline;                           // of the call, by SteadyNow
  std::shared_ptr<const LoadedNetwork> network;  // null: none

  // True ends the search; its best mapping is the result. Called from any thread.
  std::function<bool()> stop;

  // Takes an answer. Called from any thread, one call at a time.
  std::function<void(v1::FindMappingResponse response)> send;
};

struct SearchFigures {
  double wait_seconds = 0;
  double prepare_seconds = 0;
  double search_seconds = 0;
  uint64_t games = 0;
  uint64_t simulations = 0;
  bool interrupted = false;  // `stop` ended the search
};

// Reads the program, searches, and sends all answers. CheckRequest must have accepted the request.
// Errors are those of MakeRequestProgram and Solve. FailedPrecondition: the solver needs a network.
// DeadlineExceeded: no time is left for the search. Cancelled: `stop` is true before the search.
absl::StatusOr<SearchFigures> SearchMapping(const MappingRequest& request,
                                            const SearchSettings& settings);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_MAPPING_SEARCH_H_
