#include "replay/client/item_sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/sample_source.h"
#include "rpc/channel.h"

namespace mallocmuzero {
namespace {

constexpr size_t kNone = SIZE_MAX;

}  // namespace

ItemSampler::ItemSampler(const ReplaySamplerOptions& options, bool decode, SamplerMetrics& metrics)
    : options_(options), decode_(decode), metrics_(metrics), random_(options.seed) {
  const absl::MutexLock lock(&board_.mutex);
  for (const ShardAddress& shard : options_.shards) AddShard(shard);
}

void ItemSampler::AddShard(const ShardAddress& address) {
  shards_.push_back(
      {.address = address, .channel = MakeChannel(address.address, *options_.security)});
  for (auto& [selection, sources] : sources_) {
    sources.push_back(MakeSource(shards_.back(), selection));
  }
}

std::unique_ptr<SampleSource> ItemSampler::MakeSource(const Shard& shard, v1::Selection selection) {
  if (shard.channel == nullptr) return nullptr;
  return std::make_unique<SampleSource>(
      SampleSourceOptions{.channel = shard.channel,
                          .security = options_.security,
                          .metrics = metrics_.Of(shard.address.name),
                          .selection = selection,
                          .prefetch = options_.prefetch,
                          .unlimited = options_.unlimited,
                          .decode = decode_,
                          .seed = random_()},
      board_, metrics_);
}

std::vector<size_t> ItemSampler::SetShards(const std::vector<ShardAddress>& shards) {
  std::vector<size_t> left;
  Sources stopped;
  {
    const absl::MutexLock lock(&board_.mutex);
    if (stopped_) return left;
    const size_t before = shards_.size();
    for (const ShardAddress& shard : shards) {
      const bool known = std::any_of(shards_.begin(), shards_.end(), [&](const Shard& other) {
        return other.channel != nullptr && other.address == shard;
      });
      if (!known) AddShard(shard);
    }
    for (size_t i = 0; i < before; ++i) {
      if (shards_[i].channel == nullptr || absl::c_linear_search(shards, shards_[i].address)) {
        continue;
      }
      left.push_back(i);
      shards_[i].channel = nullptr;
      for (auto& [selection, sources] : sources_) {
        sources[i]->Stop();
        stopped.push_back(std::move(sources[i]));
      }
    }
    board_.changed.SignalAll();
  }
  for (const std::unique_ptr<SampleSource>& source : stopped) source->Join();
  return left;
}

size_t ItemSampler::shards() const {
  const absl::MutexLock lock(&board_.mutex);
  return shards_.size();
}

std::shared_ptr<grpc::Channel> ItemSampler::channel(size_t shard) const {
  const absl::MutexLock lock(&board_.mutex);
  return shards_[shard].channel;
}

std::string ItemSampler::shard_name(uint32_t shard) const {
  const absl::MutexLock lock(&board_.mutex);
  return shard < shards_.size() ? shards_[shard].address.name : "";
}

ItemSampler::~ItemSampler() {
  Stop();
  std::map<v1::Selection, Sources> sources;
  {
    const absl::MutexLock lock(&board_.mutex);
    sources = std::exchange(sources_, {});
  }
  for (const auto& [selection, of_shards] : sources) {
    for (const std::unique_ptr<SampleSource>& source : of_shards) {
      if (source != nullptr) source->Join();
    }
  }
}

void ItemSampler::Stop() {
  const absl::MutexLock lock(&board_.mutex);
  stopped_ = true;
  for (const auto& [selection, sources] : sources_) {
    for (const std::unique_ptr<SampleSource>& source : sources) {
      if (source != nullptr) source->Stop();
    }
  }
  board_.changed.SignalAll();
}

ItemSampler::Sources& ItemSampler::SourcesOf(v1::Selection selection) {
  const auto [found, is_new] = sources_.try_emplace(selection);
  if (is_new) {
    for (const Shard& shard : shards_) found->second.push_back(MakeSource(shard, selection));
  }
  return found->second;
}

// Chooses, in proportion to its weight, a shard that has draws or is expected to have some soon.
// Sets the choice's probability. Returns kNone if there is no such shard.
size_t ItemSampler::Choose(const Sources& sources, double& probability) {
  double total = 0;
  for (const std::unique_ptr<SampleSource>& source : sources) {
    if (source != nullptr && source->available()) total += source->weight();
  }
  double point = std::uniform_real_distribution<double>(0, 1)(random_) * total;
  size_t chosen = kNone;
  for (size_t shard = 0; shard < sources.size(); ++shard) {
    if (sources[shard] == nullptr || !sources[shard]->available()) continue;
    const double weight = sources[shard]->weight();
    if (weight <= 0) continue;
    chosen = shard;
    if (point < weight) break;
    point -= weight;
  }
  if (chosen != kNone) probability = sources[chosen]->weight() / total;
  return chosen;
}

absl::Status ItemSampler::CheckTime(absl::Time deadline) const {
  if (stopped_) return absl::CancelledError("the sampler has stopped");
  if (absl::Now() < deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("no draws in time: ", Troubles()));
}

// Keeps to the chosen shard until it delivers or turns out to be away: taking whichever draw
// arrives first would change the probabilities. The time that a shard keeps draws waiting adds up
// over calls, so that callers with short timeouts lose patience too.
absl::Status ItemSampler::DrawOne(Sources& sources, absl::Time deadline, ShardDraw& draw) {
  while (true) {
    double probability = 0;
    const size_t shard = Choose(sources, probability);
    absl::Time patience = absl::InfiniteFuture();
    while (shard == kNone || (sources[shard]->ready().empty() && sources[shard]->available())) {
      if (shard != kNone) {
        patience = sources[shard]->HasBeenWaitedForSince(absl::Now()) + options_.patience;
      }
      if (absl::Now() >= patience) {
        sources[shard]->Stall();
        break;
      }
      if (absl::Status status = CheckTime(deadline); !status.ok()) return status;
      board_.changed.WaitWithDeadline(&board_.mutex, std::min(deadline, patience));
      // The shard may have left meanwhile.
      if (shard == kNone || sources[shard] == nullptr) break;
    }
    if (shard == kNone || sources[shard] == nullptr || sources[shard]->ready().empty()) continue;
    draw = {.drawn = sources[shard]->Pop(), .shard = static_cast<uint32_t>(shard)};
    draw.probability = probability * draw.drawn.probability;
    return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<ShardDraw>> ItemSampler::Draw(v1::Selection selection, size_t count,
                                                         absl::Duration timeout) {
  const absl::Time start = SteadyNow();
  const absl::Time deadline = absl::Now() + timeout;  // Abseil waits by the wall clock
  std::vector<ShardDraw> draws;
  draws.reserve(count);
  const absl::MutexLock lock(&board_.mutex);
  if (stopped_) return absl::CancelledError("the sampler has stopped");
  Sources& sources = SourcesOf(selection);
  ++waiting_;
  absl::Status status;
  while (draws.size() < count && status.ok()) {
    ShardDraw draw;
    status = DrawOne(sources, deadline, draw);
    if (status.ok()) draws.push_back(std::move(draw));
  }
  --waiting_;
  metrics_.wait_seconds->Increment(absl::ToDoubleSeconds(SteadyNow() - start));
  if (status.ok()) return draws;
  for (auto draw = draws.rbegin(); draw != draws.rend(); ++draw) {
    if (sources[draw->shard] != nullptr) sources[draw->shard]->PutBack(std::move(draw->drawn));
  }
  return status;
}

uint64_t ItemSampler::positions() const {
  const absl::MutexLock lock(&board_.mutex);
  // All selections draw from the same shards. The learner's, PRIORITIZED, comes first in the map;
  // BEST would count positions of best games only.
  for (const auto& [selection, sources] : sources_) {
    uint64_t sum = 0;
    for (const std::unique_ptr<SampleSource>& source : sources) {
      if (source != nullptr && source->available()) sum += source->positions();
    }
    if (sum > 0) return sum;
  }
  return 0;
}

std::string ItemSampler::Troubles() const {
  std::string text;
  for (const auto& [selection, sources] : sources_) {
    for (size_t shard = 0; shard < sources.size(); ++shard) {
      if (sources[shard] == nullptr || !sources[shard]->ready().empty()) continue;
      absl::StrAppend(&text, text.empty() ? "" : "; ", "shard ", shards_[shard].address.name, ": ",
                      sources[shard]->trouble());
    }
    if (!text.empty()) break;
  }
  return text;
}

std::vector<PeerState> ItemSampler::peers() const {
  std::vector<PeerState> peers;
  const absl::MutexLock lock(&board_.mutex);
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    if (shards_[shard].channel == nullptr) continue;
    PeerState& peer = peers.emplace_back(PeerState{.name = PeerName(shards_[shard].address)});
    for (const auto& [selection, sources] : sources_) {
      if (peer.trouble.empty()) peer.trouble = sources[shard]->lost_by();
    }
  }
  return peers;
}

std::string ItemSampler::blocked_on() const {
  const absl::MutexLock lock(&board_.mutex);
  return waiting_ > 0 ? Troubles() : std::string();
}

}  // namespace mallocmuzero
