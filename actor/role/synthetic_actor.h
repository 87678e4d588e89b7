// A load generator: actors that use the cluster's protocol and play without a network.

#ifndef MALLOCMUZERO_ACTOR_ROLE_SYNTHETIC_ACTOR_H_
#define MALLOCMUZERO_ACTOR_ROLE_SYNTHETIC_ACTOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

struct SyntheticOptions {
  // The number of simulated actors. Each has its own connections to the learner and to every shard.
  uint32_t actors = 1;

  // The rate of each actor; 0: as many games as the shards accept.
  double games_per_second = 1;

  // The number of threads that play for all actors; 0: one for each core.
  uint32_t threads = 0;

  // Whether each actor fetches every new version of the weights, as a real one would.
  bool fetch_weights = true;
};

// Figures of all actors together. Latencies are those of reports to the learner.
struct SyntheticStats {
  uint64_t games = 0;  // given to the spools
  uint64_t decisions = 0;
  uint64_t acknowledged = 0;  // games that shards have
  uint64_t spooled_bytes = 0;
  uint64_t reports = 0;
  uint64_t failed_reports = 0;
  uint64_t versions = 0;  // notices of new weights
  uint64_t fetched_bytes = 0;
  uint32_t connected = 0;  // actors whose learner answers
  uint32_t blocked = 0;    // actors whose last game had no room in their spool
  double report_p50_ms = 0;
  double report_p99_ms = 0;
  std::string last_error;  // of calls to the learner, for people to read
};

// Plays random legal games of the learner's programs, without a search, to measure how many games a
// shard, a learner and the network between them can take. Thread-safe.
class SyntheticActors {
 public:
  // `config` is a result of ReadClusterConfig. Returns at once. Errors name the field or the file.
  static absl::StatusOr<std::unique_ptr<SyntheticActors>> Start(
      const v1::ClusterConfig& config, const SyntheticOptions& options,
      std::shared_ptr<const Security> security);

  // Stops at once.
  ~SyntheticActors();
  SyntheticActors(const SyntheticActors&) = delete;
  SyntheticActors& operator=(const SyntheticActors&) = delete;

  // Ends play and closes all connections within `grace`. Games in the spools are lost.
  absl::Status Stop(absl::Duration grace);

  SyntheticStats stats() const;

 private:
  class Impl;  // synthetic_actor.cc

  explicit SyntheticActors(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_SYNTHETIC_ACTOR_H_
