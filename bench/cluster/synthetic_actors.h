// A load generator: simulated actors that use the cluster's protocol but play without a network.

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
  // The number of simulated actors, each with its own connections to the learner and every shard.
  uint32_t actors = 1;

  // The rate of each actor; 0: as fast as the shards take games.
  double games_per_second = 1;

  // The number of threads that play for all actors; 0: one for each core.
  uint32_t threads = 0;

  // Whether actors fetch new weights, as real ones do.
  bool fetch_weights = true;
};

// The totals of all actors since the start. Latencies are those of reports to the learner. A report
// that misses its deadline counts with the time until then, other failed reports do not count.
struct SyntheticStats {
  uint64_t games = 0;  // handed to the writers
  uint64_t decisions = 0;
  uint64_t acknowledged = 0;  // games that shards have acknowledged
  uint64_t spooled_bytes = 0;
  uint64_t reports = 0;
  uint64_t failed_reports = 0;
  uint64_t versions = 0;  // notices of new weights
  uint64_t fetched_bytes = 0;
  uint32_t connected = 0;  // actors whose learner answers
  uint32_t blocked = 0;    // actors whose last game had no room in their spool
  double report_p50_ms = 0;
  double report_p99_ms = 0;
  std::string last_error;  // of calls to the learner, for people
};

// Sends random legal games of the learner's programs without searching them, to measure how much
// load the learner, the shards and the network between them can take. Thread-safe.
class SyntheticActors {
 public:
  // `config` must come from ReadClusterConfig. Returns without waiting for the learner or shards.
  // InvalidArgument names the field that is wrong.
  static absl::StatusOr<std::unique_ptr<SyntheticActors>> Start(
      const v1::ClusterConfig& config, const SyntheticOptions& options,
      std::shared_ptr<const Security> security);

  // Calls Stop without grace.
  ~SyntheticActors();
  SyntheticActors(const SyntheticActors&) = delete;
  SyntheticActors& operator=(const SyntheticActors&) = delete;

  // Ends play, delivers the spools and closes all connections within about `grace`. Games that
  // cannot be delivered in that time are lost. Always returns OK.
  absl::Status Stop(absl::Duration grace);

  SyntheticStats stats() const;

 private:
  class Impl;  // synthetic_actors.cc

  explicit SyntheticActors(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_CLUSTER_SYNTHETIC_ACTORS_H_
