#include "bench/replay/replay_load_client.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/item_sampler.h"
#include "replay/client/item_writer.h"
#include "replay/client/metrics.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/shard_roster.h"
#include "replay/wire/wire.h"
#include "rpc/security.h"

namespace mallocmuzero::bench {
namespace {

constexpr absl::Duration kWarmUp = absl::Seconds(1);

// Bytes on their way from one client: as many as a program that does not wait for each would have.
constexpr size_t kInFlightBytes = size_t{4} << 20;

// Payloads used in turn.
constexpr uint64_t kPayloads = 32;

std::string RandomBytes(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = random();
  return text;
}

// Inserts without end, and counts what is acknowledged.
class InsertClient {
 public:
  InsertClient(const std::string& address, size_t item_bytes, uint32_t client)
      : next_(uint64_t{client + 1} << 48),
        writer_({.roster = RosterOf({{.name = "bench", .address = address}}),
                 .security = std::make_shared<Security>(),
                 .spool_bytes = std::max(kInFlightBytes, 2 * item_bytes),
                 .on_settled = [this](const SpooledItem&) { OnSettled(); }}) {
    for (uint64_t i = 0; i < kPayloads; ++i) {
      payloads_.push_back(RandomBytes(item_bytes, client * kPayloads + i));
    }
    fields_.set_program_sha256(std::string(32, 'p'));
    fields_.set_positions(1);
    fields_.set_encoding(v1::ReplayItem::TRAJECTORY);
  }

  void Insert() {
    std::string id(16, '\0');
    std::memcpy(id.data(), &next_, sizeof(next_));
    fields_.set_id(id);
    SpooledItem item{.id = id, .wire = WriteItem(fields_, payloads_[next_++ % kPayloads])};
    {
      const absl::MutexLock lock(&mutex_);
      begun_.push_back(SteadyNow());
    }
    writer_.Write(std::move(item));
  }

  // Waits for all acknowledgements.
  void Finish() { writer_.Close(absl::Minutes(1), absl::Minutes(1)); }

  ClientResult Measure(double seconds) {
    const absl::Time start = SteadyNow() + kWarmUp;
    while (SteadyNow() < start) Insert();
    measuring_ = true;
    const uint64_t before = writer_.acknowledged();
    const absl::Time begin = SteadyNow();
    while (SteadyNow() < begin + absl::Seconds(seconds)) Insert();
    measuring_ = false;
    const auto count = static_cast<double>(writer_.acknowledged() - before);
    ClientResult result{.per_second = count / absl::ToDoubleSeconds(SteadyNow() - begin)};
    const absl::MutexLock lock(&mutex_);
    result.times = times_;
    return result;
  }

 private:
  // Answers come in the order of the items.
  void OnSettled() {
    const absl::MutexLock lock(&mutex_);
    if (measuring_) times_.Add(SteadyNow() - begun_.front());
    begun_.pop_front();
  }

  uint64_t next_;
  v1::ReplayItem fields_;
  std::vector<std::string> payloads_;
  std::atomic<bool> measuring_ = false;
  absl::Mutex mutex_;
  std::deque<absl::Time> begun_ ABSL_GUARDED_BY(mutex_);
  TimeHistogram times_ ABSL_GUARDED_BY(mutex_);
  ItemWriter writer_;
};

}  // namespace

uint32_t BatchOf(size_t item_bytes) {
  if (item_bytes <= 1000) return 256;
  return item_bytes <= 40000 ? 64 : 16;
}

void InsertItems(const std::string& address, size_t item_bytes, uint32_t client, uint64_t items) {
  InsertClient inserts(address, item_bytes, client);
  for (uint64_t i = 0; i < items; ++i) inserts.Insert();
  inserts.Finish();
}

ClientResult MeasureInserts(const std::string& address, size_t item_bytes, uint32_t client,
                            double seconds) {
  InsertClient inserts(address, item_bytes, client);
  const ClientResult result = inserts.Measure(seconds);
  inserts.Finish();
  return result;
}

absl::StatusOr<ClientResult> MeasureSamples(const std::string& address, size_t item_bytes,
                                            double seconds) {
  const ReplaySamplerOptions options{.shards = {{.name = "bench", .address = address}},
                                     .security = std::make_shared<Security>(),
                                     .prefetch = 512};
  SamplerMetrics metrics(nullptr);
  ItemSampler sampler(options, /*decode=*/false, metrics);
  const uint32_t batch = BatchOf(item_bytes);
  ClientResult result;
  uint64_t count = 0;
  absl::Time begin = SteadyNow() + kWarmUp;
  while (SteadyNow() < begin + absl::Seconds(seconds)) {
    const absl::Time call = SteadyNow();
    const auto draws = sampler.Draw(v1::PRIORITIZED, batch, absl::Minutes(1));
    if (!draws.ok()) return draws.status();
    if (call < begin) continue;
    if (count == 0) begin = call;
    count += batch;
    result.times.Add(SteadyNow() - call);
  }
  result.per_second = static_cast<double>(count) / absl::ToDoubleSeconds(SteadyNow() - begin);
  return result;
}

}  // namespace mallocmuzero::bench
