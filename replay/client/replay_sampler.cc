#include "replay/client/replay_sampler.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/item_sampler.h"
#include "replay/client/metrics.h"
#include "replay/client/priority_writer.h"
#include "replay/client/shard_address.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// More draws than this would be out of date before they are used.
constexpr uint32_t kMaxPrefetch = 1 << 16;

}  // namespace

class ReplaySampler::Impl {
 public:
  explicit Impl(const ReplaySamplerOptions& options)
      : metrics_(options.registry, options.shards), items_(options, /*decode=*/true, metrics_) {
    for (size_t shard = 0; shard < options.shards.size(); ++shard) {
      priorities_.push_back(
          std::make_unique<PriorityWriter>(items_.channel(shard), options.security, metrics_));
    }
  }

  absl::StatusOr<std::vector<SampledPosition>> Draw(v1::Selection selection, size_t count,
                                                    absl::Duration timeout) {
    absl::StatusOr<std::vector<ShardDraw>> draws = items_.Draw(selection, count, timeout);
    if (!draws.ok()) return draws.status();
    std::vector<SampledPosition> positions;
    positions.reserve(draws->size());
    for (ShardDraw& draw : *draws) {
      positions.push_back({.trajectory = std::move(draw.drawn.trajectory),
                           .position = draw.drawn.position,
                           .probability = draw.probability,
                           .shard = draw.shard});
    }
    return positions;
  }

  void UpdatePriorities(absl::Span<const SampledPosition> drawn,
                        absl::Span<const double> priorities) {
    std::vector<std::vector<v1::UpdatePrioritiesRequest::Update>> updates(priorities_.size());
    for (size_t i = 0; i < drawn.size() && i < priorities.size(); ++i) {
      if (!std::isfinite(priorities[i]) || priorities[i] < 0) continue;
      v1::UpdatePrioritiesRequest::Update& update = updates[drawn[i].shard].emplace_back();
      update.set_id(drawn[i].trajectory->id());
      update.set_position(drawn[i].position);
      update.set_priority(priorities[i]);
    }
    for (size_t shard = 0; shard < updates.size(); ++shard) {
      if (!updates[shard].empty()) priorities_[shard]->Add(std::move(updates[shard]));
    }
  }

  ItemSampler& items() { return items_; }

 private:
  SamplerMetrics metrics_;
  ItemSampler items_;
  std::vector<std::unique_ptr<PriorityWriter>> priorities_;  // by shard
};

absl::StatusOr<std::unique_ptr<ReplaySampler>> ReplaySampler::Start(ReplaySamplerOptions options) {
  MMZ_RETURN_IF_ERROR(CheckShards(options.shards));
  if (options.prefetch == 0 || options.prefetch > kMaxPrefetch) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefetch: ", options.prefetch, ", must be 1 to ", kMaxPrefetch));
  }
  if (options.security == nullptr) options.security = std::make_shared<Security>();
  return std::unique_ptr<ReplaySampler>(new ReplaySampler(std::make_unique<Impl>(options)));
}

ReplaySampler::ReplaySampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ReplaySampler::~ReplaySampler() = default;

absl::StatusOr<std::vector<SampledPosition>> ReplaySampler::Draw(v1::Selection selection,
                                                                 size_t count,
                                                                 absl::Duration timeout) {
  return impl_->Draw(selection, count, timeout);
}

uint64_t ReplaySampler::positions() const { return impl_->items().positions(); }

void ReplaySampler::UpdatePriorities(absl::Span<const SampledPosition> drawn,
                                     absl::Span<const double> priorities) {
  impl_->UpdatePriorities(drawn, priorities);
}

std::vector<PeerState> ReplaySampler::peers() const { return impl_->items().peers(); }

std::string ReplaySampler::blocked_on() const { return impl_->items().blocked_on(); }

void ReplaySampler::Stop() { impl_->items().Stop(); }

}  // namespace mallocmuzero
