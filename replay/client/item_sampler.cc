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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
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
  for (const ShardAddress& shard : options_.shards) {
    channels_.push_back(MakeChannel(shard.address, *options_.security));
  }
}

ItemSampler::~ItemSampler() {
  Stop();
  std::map<v1::Selection, Sources> sources;
  {
    const absl::MutexLock lock(&board_.mutex);
    sources = std::exchange(sources_, {});
  }
  for (const auto& [selection, of_shards] : sources) {
    for (const std::unique_ptr<SampleSource>& source : of_shards) source->Join();
  }
}

void ItemSampler::Stop() {
  const absl::MutexLock lock(&board_.mutex);
  stopped_ = true;
  for (const auto& [selection, sources] : sources_) {
    for (const std::unique_ptr<SampleSource>& source : sources) source->Stop();
  }
  board_.changed.SignalAll();
}

ItemSampler::Sources& ItemSampler::SourcesOf(v1::Selection selection) {
  const auto [found, is_new] = sources_.try_emplace(selection);
  if (is_new) {
    for (size_t shard = 0; shard < channels_.size(); ++shard) {
      found->second.push_back(
          std::make_unique<SampleSource>(SampleSourceOptions{.channel = channels_[shard],
                                                             .security = options_.security,
                                                             .shard = shard,
                                                             .selection = selection,
                                                             .prefetch = options_.prefetch,
                                                             .unlimited = options_.unlimited,
                                                             .decode = decode_,
                                                             .seed = random_()},
                                         board_, metrics_));
    }
  }
  return found->second;
}

// Chooses, in proportion to its weight, a shard that has draws or is expected to have some soon.
// Sets the choice's probability. Returns kNone if there is no such shard.
size_t ItemSampler::Choose(const Sources& sources, double& probability) {
  double total = 0;
  for (const std::unique_ptr<SampleSource>& source : sources) {
    if (source->available()) total += source->weight();
  }
  double point = std::uniform_real_distribution<double>(0, 1)(random_) * total;
  size_t chosen = kNone;
  for (size_t shard = 0; shard < sources.size(); ++shard) {
    const double weight = sources[shard]->weight();
    if (!sources[shard]->available() || weight <= 0) continue;
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
      if (shard == kNone) break;
    }
    if (shard == kNone || sources[shard]->ready().empty()) continue;
    draw = {.drawn = sources[shard]->Pop(), .shard = static_cast<uint32_t>(shard)};
    draw.probability = probability * draw.drawn.probability;
    return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<ShardDraw>> ItemSampler::Draw(v1::Selection selection, size_t count,
                                                         absl::Duration timeout) {
  const absl::Time start = absl::Now();
  std::vector<ShardDraw> draws;
  draws.reserve(count);
  const absl::MutexLock lock(&board_.mutex);
  if (stopped_) return absl::CancelledError("the sampler has stopped");
  Sources& sources = SourcesOf(selection);
  ++waiting_;
  absl::Status status;
  while (draws.size() < count && status.ok()) {
    ShardDraw draw;
    status = DrawOne(sources, start + timeout, draw);
    if (status.ok()) draws.push_back(std::move(draw));
  }
  --waiting_;
  metrics_.wait_seconds->Increment(absl::ToDoubleSeconds(absl::Now() - start));
  if (status.ok()) return draws;
  for (auto draw = draws.rbegin(); draw != draws.rend(); ++draw) {
    sources[draw->shard]->PutBack(std::move(draw->drawn));
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
      if (source->available()) sum += source->positions();
    }
    if (sum > 0) return sum;
  }
  return 0;
}

std::string ItemSampler::Troubles() const {
  std::string text;
  for (const auto& [selection, sources] : sources_) {
    for (size_t shard = 0; shard < sources.size(); ++shard) {
      if (!sources[shard]->ready().empty()) continue;
      absl::StrAppend(&text, text.empty() ? "" : "; ", "shard ", options_.shards[shard].name, ": ",
                      sources[shard]->trouble());
    }
    if (!text.empty()) break;
  }
  return text;
}

std::vector<PeerState> ItemSampler::peers() const {
  std::vector<PeerState> peers;
  for (const ShardAddress& shard : options_.shards) peers.push_back({.name = PeerName(shard)});
  const absl::MutexLock lock(&board_.mutex);
  for (const auto& [selection, sources] : sources_) {
    for (size_t shard = 0; shard < sources.size(); ++shard) {
      if (peers[shard].trouble.empty()) peers[shard].trouble = sources[shard]->lost_by();
    }
  }
  return peers;
}

std::string ItemSampler::blocked_on() const {
  const absl::MutexLock lock(&board_.mutex);
  return waiting_ > 0 ? Troubles() : std::string();
}

}  // namespace mallocmuzero
