// A load generator: actors that speak the cluster's protocol and play without a network.

#ifndef MALLOCMUZERO_BENCH_CLUSTER_SYNTHETIC_ACTORS_H_
#define MALLOCMUZERO_BENCH_CLUSTER_SYNTHETIC_ACTORS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {
class Security;  // rpc/security.h
}  // namespace mallocmuzero

namespace mallocmuzero::bench {

struct SyntheticOptions {
  // Actors simulated, each with connections of its own to the learner and to every shard.
  uint32_t actors = 1;

  // Of each actor; 0: as many as the shards take.
  double games_per_second = 1;

  // Threads that play for all of them; 0: one a core.
  uint32_t threads = 0;

  // Whether each actor fetches every new version of the weights, as a real one would.
  bool fetch_weights = true;
};

// The work of all actors together. Latencies are of reports to the learner.
struct SyntheticStats {
  uint64_t games = 0;  // handed to the spools
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
  std::string last_error;  // of the learner's calls, for a person
};

// Random legal games of the learner's programs, searched by nobody: what a shard, a learner and the
// network between them take. Thread-safe.
class SyntheticActors {
 public:
  // `config` as ReadClusterConfig gives it. Returns at once. Errors name the field or the file.
  static absl::StatusOr<std::unique_ptr<SyntheticActors>> Start(
      const v1::ClusterConfig& config, const SyntheticOptions& options,
      std::shared_ptr<const Security> security);

  // Stops at once.
  ~SyntheticActors();
  SyntheticActors(const SyntheticActors&) = delete;
  SyntheticActors& operator=(const SyntheticActors&) = delete;

  // Ends play and closes all connections within `grace`; what is in the spools is given up.
  absl::Status Stop(absl::Duration grace);

  SyntheticStats stats() const;

 private:
  class Impl;  // synthetic_actors.cc

  explicit SyntheticActors(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_CLUSTER_SYNTHETIC_ACTORS_H_
