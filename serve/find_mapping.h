// The client's side of `serve`.

#ifndef MALLOCMUZERO_SERVE_FIND_MAPPING_H_
#define MALLOCMUZERO_SERVE_FIND_MAPPING_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct FindMappingOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // of the call

  // True cancels the call. Asked every 50 ms from a thread of its own. Empty: never.
  std::function<bool()> stop;

  // Take the first answer and the better mappings, on the calling thread. May be empty.
  std::function<void(const v1::SearchStarted&)> started;
  std::function<void(const v1::FoundMapping&)> better;

  // Takes the error of a call that the server, the connection or the timeout has ended after a
  // mapping came, on the calling thread. The answer is that mapping. Without this function, it is
  // the error.
  std::function<void(const absl::Status&)> cut_short;
};

// Asks a server for a mapping and blocks until the search ends. Errors are those of the service.
// If `stop` cancels the call, or it is cut short, the answer is the best mapping that came before,
// marked as interrupted. If none came, it is Cancelled or the error.
absl::StatusOr<v1::FoundMapping> FindMapping(v1::Mapper::StubInterface& server,
                                             const Security& security,
                                             const v1::FindMappingRequest& request,
                                             const FindMappingOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_FIND_MAPPING_H_
