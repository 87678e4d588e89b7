// A load generator for `serve`: many clients that send good and bad requests.

#ifndef MALLOCMUZERO_BENCH_SERVE_SERVE_LOAD_H_
#define MALLOCMUZERO_BENCH_SERVE_SERVE_LOAD_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero {
class Security;  // rpc/security.h
}  // namespace mallocmuzero

namespace mallocmuzero::bench {

struct ServeLoadOptions {
  std::string address;  // host:port of the server
  std::shared_ptr<const Security> security;

  // Serialised requests, at least one, which the clients send in turn.
  std::vector<std::string> messages;

  uint32_t clients = 8;                               // threads, each with a connection of its own
  uint64_t requests = 64;                             // of all clients together
  absl::Duration timeout = absl::InfiniteDuration();  // of a call

  // One request in three is sent as it is, one with changed bytes, one cut short.
  bool mutate = false;
  uint64_t seed = 0;

  // The server's process, whose memory is measured; 0: none.
  pid_t server = 0;

  // Asked often, by all clients. True ends the load, and the calls that have no answer yet. May be
  // empty.
  std::function<bool()> stop;
};

// Sends the requests and waits for all answers. Unavailable if the server does not answer. NotFound
// if there is no process `server`.
absl::StatusOr<v1::ServeBenchReport> LoadServer(const ServeLoadOptions& options);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_SERVE_SERVE_LOAD_H_
