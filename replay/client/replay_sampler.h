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
#include "replay/client/shard_address.h"
#include "replay/drawn_position.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

class Security;

// The most draws that a shard is asked for ahead of need. More would be out of date before they are
// used.
inline constexpr uint32_t kMostPrefetchedDraws = 1 << 16;

struct ReplaySamplerOptions {
  std::vector<ShardAddress> shards;  // at least one
  std::shared_ptr<const Security> security;

  // How many draws each shard is asked for ahead of need, 1 to kMostPrefetchedDraws.
  uint32_t prefetch = 256;

  // If true, draws neither wait for the shards' rate limiters nor count for them. For readers that
  // do not learn from the drawn games.
  bool unlimited = false;

  // Seeds the choice among shards.
  uint64_t seed = 0;

  // A shard that keeps draws waiting for longer than this is left out until it delivers again.
  absl::Duration patience = absl::Seconds(1);

  // Gets the metrics of replay/client/metrics.h if it is not null. Not owned; must outlive the
  // sampler.
  prometheus::Registry* registry = nullptr;
};

// Chooses a shard in proportion to its total weight (PRIORITIZED) or its number of positions
// (UNIFORM, BEST), so that several shards draw as one large shard would. Best games are the
// exception: each shard keeps its own. A shard that is away is not chosen. Thread-safe.
class ReplaySampler {
 public:
  // Makes a sampler; it connects to the shards at the first Draw. InvalidArgument names an option
  // that is not valid.
  static absl::StatusOr<std::unique_ptr<ReplaySampler>> Start(ReplaySamplerOptions options);

  // Stops at once. No Draw may be under way: call Stop first and wait for their return.
  ~ReplaySampler();

  ReplaySampler(const ReplaySampler&) = delete;
  ReplaySampler& operator=(const ReplaySampler&) = delete;

  // Draws from these shards from now on. Shards that are no longer in the list get no priorities
  // either. Blocks until the streams to them are closed. Ignores an empty list.
  void SetShards(const std::vector<ShardAddress>& shards);

  // The name of a shard by its number, also of a shard that has left. The number is the shard's
  // index in ReplaySamplerOptions::shards. Shards that were added later have the next numbers.
  std::string shard_name(uint32_t shard) const;

  // Makes `count` independent draws, with replacement. Blocks until the shards have delivered them.
  // DeadlineExceeded, which names what it waited for, if that takes longer than `timeout`; draws
  // that arrived are kept for the next Draw. Cancelled after Stop.
  absl::StatusOr<std::vector<DrawnPosition>> Draw(v1::Selection selection, size_t count,
                                                  absl::Duration timeout);

  // The number of positions in all shards that are available, as of their latest answers. This is
  // the N of the importance weights (1 / (N x probability)) ^ exponent.
  uint64_t positions() const;

  // Sets the priority |value - outcome| of each of `drawn`; values that are negative or not finite
  // are skipped. Does not block: a thread sends the priorities and drops them if their shard is
  // away, if SetShards is just adding it, or if too many wait.
  void UpdatePriorities(absl::Span<const DrawnPosition> drawn, absl::Span<const double> priorities);

  // The state of each shard, whether or not a Draw waits for it.
  std::vector<PeerState> peers() const;

  // Why running calls of Draw wait, in a few words; empty if none waits.
  std::string blocked_on() const;

  // Makes every running and later Draw return Cancelled.
  void Stop();

 private:
  class Impl;

  explicit ReplaySampler(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_REPLAY_SAMPLER_H_
