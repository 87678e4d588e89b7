// Draws positions from all replay shards as if they were one.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_REPLAY_SAMPLER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_REPLAY_SAMPLER_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

class Security;

struct ReplaySamplerOptions {
  std::vector<ShardAddress> shards;  // at least one
  std::shared_ptr<const Security> security;

  // Draws that are asked of each shard ahead of need.
  uint32_t prefetch = 256;

  // Draws neither count for the shards' rate limiters nor wait for them: for readers that do not
  // learn from what they draw.
  bool unlimited = false;

  // Of the choice among shards.
  uint64_t seed = 0;

  // A shard that keeps a draw waiting for longer is left out until it delivers again.
  absl::Duration patience = absl::Seconds(1);

  // Not owned; outlives the sampler. See replay/client/metrics.h.
  prometheus::Registry* registry = nullptr;
};

struct SampledPosition {
  std::shared_ptr<const v1::Trajectory> trajectory;
  uint32_t position = 0;  // below trajectory->actions().size()

  // With which this position of this trajectory was drawn, in one draw: P(shard) x P(position |
  // shard), over the shards that were there.
  double probability = 0;

  uint32_t shard = 0;  // its index in the options
};

// A shard is chosen in proportion to its total weight (PRIORITIZED) or its positions (UNIFORM,
// BEST), so that shards together draw as one would; but each has best games of its own. A shard
// that is away is not chosen. Thread-safe.
class ReplaySampler {
 public:
  // InvalidArgument for an option that cannot be.
  static absl::StatusOr<std::unique_ptr<ReplaySampler>> Start(ReplaySamplerOptions options);

  // Stops at once; a Draw that waits returns Cancelled.
  ~ReplaySampler();

  ReplaySampler(const ReplaySampler&) = delete;
  ReplaySampler& operator=(const ReplaySampler&) = delete;

  // `count` independent draws, with replacement. DeadlineExceeded, saying what it waited for, if
  // they are not there in time; those that were stay for the next Draw. Cancelled by Stop.
  absl::StatusOr<std::vector<SampledPosition>> Draw(v1::Selection selection, size_t count,
                                                    absl::Duration timeout);

  // Positions that all shards that are there have to draw from, as of their latest answers: the N
  // of importance weights (1 / (N x probability)) ^ exponent.
  uint64_t positions() const;

  // One priority (finite, not negative: |value - outcome|) for each of `drawn`. Sent in the
  // background; dropped if a shard is away, or if more wait than can be sent.
  void UpdatePriorities(absl::Span<const SampledPosition> drawn,
                        absl::Span<const double> priorities);

  // The shards, whether or not a Draw waits for them.
  std::vector<PeerState> peers() const;

  // What a Draw waits for now, in a few words; empty: nothing.
  std::string blocked_on() const;

  // Wakes every Draw, now and from now on, with Cancelled.
  void Stop();

 private:
  class Impl;

  explicit ReplaySampler(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_REPLAY_SAMPLER_H_
