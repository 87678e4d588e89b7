// Draws items from all shards.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ITEM_SAMPLER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ITEM_SAMPLER_H_

#include <grpcpp/channel.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/metrics.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/sample_source.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {

// A draw, and the shard that it came from (DrawnPosition::shard).
struct ShardDraw {
  DrawnItem drawn;
  uint32_t shard = 0;
  double probability = 0;  // of this position, over all shards
};

// Chooses a shard for each draw and waits for the shards' draws. Thread-safe.
class ItemSampler {
 public:
  // `options` must have passed the checks of ReplaySampler::Start. With `decode` draws hold
  // trajectories, otherwise items. `metrics` is not owned and must outlive the sampler.
  ItemSampler(const ReplaySamplerOptions& options, bool decode, SamplerMetrics& metrics);
  ~ItemSampler();

  // These do what the functions of ReplaySampler with the same names do.
  absl::StatusOr<std::vector<ShardDraw>> Draw(v1::Selection selection, size_t count,
                                              absl::Duration timeout);
  uint64_t positions() const;
  std::vector<PeerState> peers() const;
  std::string blocked_on() const;
  std::string shard_name(uint32_t shard) const;
  void Stop();

  // Like ReplaySampler::SetShards. Returns the numbers of the shards that have left.
  std::vector<size_t> SetShards(const std::vector<ShardAddress>& shards);

  // The number of shards, with those that have left, and the channel to one of them.
  size_t shards() const;
  std::shared_ptr<grpc::Channel> channel(size_t shard) const;

 private:
  struct Shard {
    ShardAddress address;
    std::shared_ptr<grpc::Channel> channel;  // null once the shard has left
  };

  using Sources = std::vector<std::unique_ptr<SampleSource>>;  // by shard; null if it has left

  void AddShard(const ShardAddress& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_.mutex);
  std::unique_ptr<SampleSource> MakeSource(const Shard& shard, v1::Selection selection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_.mutex);
  Sources& SourcesOf(v1::Selection selection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_.mutex);
  size_t Choose(const Sources& sources, double& probability)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_.mutex);
  absl::Status DrawOne(Sources& sources, absl::Time deadline, ShardDraw& draw)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_.mutex);
  absl::Status CheckTime(absl::Time deadline) const ABSL_SHARED_LOCKS_REQUIRED(board_.mutex);
  std::string Troubles() const ABSL_SHARED_LOCKS_REQUIRED(board_.mutex);

  const ReplaySamplerOptions options_;
  const bool decode_;
  SamplerMetrics& metrics_;

  mutable SampleBoard board_;
  std::vector<Shard> shards_ ABSL_GUARDED_BY(board_.mutex);
  std::map<v1::Selection, Sources> sources_ ABSL_GUARDED_BY(board_.mutex);
  std::mt19937_64 random_ ABSL_GUARDED_BY(board_.mutex);
  uint32_t waiting_ ABSL_GUARDED_BY(board_.mutex) = 0;  // threads in Draw
  bool stopped_ ABSL_GUARDED_BY(board_.mutex) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ITEM_SAMPLER_H_
