#include "replay/client/replay_sampler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/item_sampler.h"
#include "replay/client/metrics.h"
#include "replay/client/priority_writer.h"
#include "replay/client/shard_address.h"
#include "replay/priority.h"
#include "rpc/security.h"

namespace mallocmuzero {

class ReplaySampler::Impl {
 public:
  explicit Impl(const ReplaySamplerOptions& options)
      : security_(options.security),
        metrics_(options.registry),
        items_(options, /*decode=*/true, metrics_) {
    const absl::MutexLock lock(&mutex_);
    AddPriorityWriters(options.shards.size());
  }

  void SetShards(const std::vector<ShardAddress>& shards) {
    const absl::MutexLock change(&changing_);
    const std::vector<size_t> left = items_.SetShards(shards);
    std::vector<std::unique_ptr<PriorityWriter>> stopped;
    const absl::MutexLock lock(&mutex_);
    AddPriorityWriters(items_.shards());
    for (const size_t shard : left) stopped.push_back(std::move(priorities_[shard]));
  }

  absl::StatusOr<std::vector<DrawnPosition>> Draw(v1::Selection selection, size_t count,
                                                  absl::Duration timeout) {
    absl::StatusOr<std::vector<ShardDraw>> draws = items_.Draw(selection, count, timeout);
    if (!draws.ok()) return draws.status();
    std::vector<DrawnPosition> positions;
    positions.reserve(draws->size());
    for (ShardDraw& draw : *draws) {
      positions.push_back({.trajectory = std::move(draw.drawn.trajectory),
                           .position = draw.drawn.position,
                           .probability = draw.probability,
                           .shard = draw.shard});
    }
    return positions;
  }

  void UpdatePriorities(absl::Span<const DrawnPosition> drawn,
                        absl::Span<const double> priorities) {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::vector<v1::UpdatePrioritiesRequest::Update>> updates(priorities_.size());
    for (size_t i = 0; i < drawn.size() && i < priorities.size(); ++i) {
      if (!IsPriority(priorities[i])) continue;
      // SetShards adds a shard to the draws before it adds the shard's writer.
      if (drawn[i].shard >= updates.size()) continue;
      v1::UpdatePrioritiesRequest::Update& update = updates[drawn[i].shard].emplace_back();
      update.set_id(drawn[i].trajectory->id());
      update.set_position(drawn[i].position);
      update.set_priority(priorities[i]);
    }
    for (size_t shard = 0; shard < updates.size(); ++shard) {
      if (updates[shard].empty() || priorities_[shard] == nullptr) continue;
      priorities_[shard]->Add(std::move(updates[shard]));
    }
  }

  ItemSampler& items() { return items_; }

 private:
  void AddPriorityWriters(size_t shards) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (priorities_.size() < shards) {
      priorities_.push_back(std::make_unique<PriorityWriter>(items_.channel(priorities_.size()),
                                                             security_, metrics_));
    }
  }

  const std::shared_ptr<const Security> security_;
  SamplerMetrics metrics_;
  ItemSampler items_;
  absl::Mutex changing_;  // held while the list changes, and before mutex_
  absl::Mutex mutex_;

  // One for each shard; null for a shard that has left.
  std::vector<std::unique_ptr<PriorityWriter>> priorities_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<ReplaySampler>> ReplaySampler::Start(ReplaySamplerOptions options) {
  MMZ_RETURN_IF_ERROR(CheckShards(options.shards));
  if (options.prefetch == 0 || options.prefetch > kMostPrefetchedDraws) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefetch: ", options.prefetch, ", must be 1 to ", kMostPrefetchedDraws));
  }
  if (options.security == nullptr) options.security = std::make_shared<Security>();
  return std::unique_ptr<ReplaySampler>(new ReplaySampler(std::make_unique<Impl>(options)));
}

ReplaySampler::ReplaySampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ReplaySampler::~ReplaySampler() = default;

absl::StatusOr<std::vector<DrawnPosition>> ReplaySampler::Draw(v1::Selection selection,
                                                               size_t count,
                                                               absl::Duration timeout) {
  return impl_->Draw(selection, count, timeout);
}

void ReplaySampler::SetShards(const std::vector<ShardAddress>& shards) {
  if (CheckShards(shards).ok()) impl_->SetShards(shards);
}

std::string ReplaySampler::shard_name(uint32_t shard) const {
  return impl_->items().shard_name(shard);
}

uint64_t ReplaySampler::positions() const { return impl_->items().positions(); }

void ReplaySampler::UpdatePriorities(absl::Span<const DrawnPosition> drawn,
                                     absl::Span<const double> priorities) {
  impl_->UpdatePriorities(drawn, priorities);
}

std::vector<PeerState> ReplaySampler::peers() const { return impl_->items().peers(); }

std::string ReplaySampler::blocked_on() const { return impl_->items().blocked_on(); }

void ReplaySampler::Stop() { impl_->items().Stop(); }

}  // namespace mallocmuzero
