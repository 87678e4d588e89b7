#include "replay/client/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "metrics/families.h"
#include "replay/client/shard_address.h"

namespace mallocmuzero {
namespace {

std::string Name(const char* what) { return absl::StrCat("mallocmuzero_replay_client_", what); }

std::vector<prometheus::Counter*> CountersByShard(prometheus::Registry& registry,
                                                  absl::Span<const ShardAddress> shards,
                                                  const char* what, const char* help) {
  auto& family = MakeCounters(registry, Name(what), help);
  std::vector<prometheus::Counter*> counters;
  for (const ShardAddress& shard : shards) counters.push_back(&family.Add({{"shard", shard.name}}));
  return counters;
}

std::vector<prometheus::Gauge*> GaugesByShard(prometheus::Registry& registry,
                                              absl::Span<const ShardAddress> shards,
                                              const char* what, const char* help) {
  auto& family = MakeGauges(registry, Name(what), help);
  std::vector<prometheus::Gauge*> gauges;
  for (const ShardAddress& shard : shards) gauges.push_back(&family.Add({{"shard", shard.name}}));
  return gauges;
}

std::unique_ptr<prometheus::Registry> OwnIfNone(const prometheus::Registry* registry) {
  return registry == nullptr ? std::make_unique<prometheus::Registry>() : nullptr;
}

}  // namespace

WriterMetrics::WriterMetrics(prometheus::Registry* registry, absl::Span<const ShardAddress> shards)
    : own_registry(OwnIfNone(registry)) {
  prometheus::Registry& to = registry == nullptr ? *own_registry : *registry;
  acknowledged = CountersByShard(to, shards, "acknowledged_items_total",
                                 "Trajectories that a shard has stored.");
  refused = CountersByShard(to, shards, "refused_items_total",
                            "Trajectories that a shard has refused for good.");
  resent = CountersByShard(to, shards, "resent_items_total",
                           "Trajectories sent again after a stream that was open is lost.");
  lost_streams = CountersByShard(
      to, shards, "lost_insert_streams_total",
      "Insert streams that were open and ended; attempts to open one do not count.");
  connected = GaugesByShard(to, shards, "insert_stream_connected", "1: the insert stream is open.");
  spooled_bytes = &MakeGauge(to, Name("spooled_bytes"),
                             "Bytes of trajectories that no shard has acknowledged.");
  blocked_seconds = &MakeCounter(to, Name("blocked_seconds_total"),
                                 "Time that threads waited for room in the spool.");
}

SamplerMetrics::SamplerMetrics(prometheus::Registry* registry,
                               absl::Span<const ShardAddress> shards)
    : own_registry(OwnIfNone(registry)) {
  prometheus::Registry& to = registry == nullptr ? *own_registry : *registry;
  draws = CountersByShard(to, shards, "draws_total", "Positions drawn from a shard.");
  lost_streams = CountersByShard(
      to, shards, "lost_sample_streams_total",
      "Sample streams that gave positions and ended; attempts to open one do not count.");
  connected = GaugesByShard(to, shards, "sample_stream_connected", "1: the shard gives positions.");
  invalid_items =
      &MakeCounter(to, Name("invalid_items_total"), "Drawn trajectories that could not be read.");
  wait_seconds =
      &MakeCounter(to, Name("draw_wait_seconds_total"), "Time that threads waited for positions.");
  sent_priorities =
      &MakeCounter(to, Name("sent_priorities_total"), "Priorities that shards have taken.");
  dropped_priorities =
      &MakeCounter(to, Name("dropped_priorities_total"),
                   "Priorities not delivered: their shard was away, or too many waited.");
}

}  // namespace mallocmuzero
