#include "replay/client/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "replay/client/shard_address.h"

namespace mallocmuzero {
namespace {

std::string Name(const char* what) { return absl::StrCat("mallocmuzero_replay_client_", what); }

prometheus::Counter* MakeCounter(prometheus::Registry& registry, const char* what,
                                 const char* help) {
  return &prometheus::BuildCounter().Name(Name(what)).Help(help).Register(registry).Add({});
}

std::vector<prometheus::Counter*> MakeCounters(prometheus::Registry& registry,
                                               absl::Span<const ShardAddress> shards,
                                               const char* what, const char* help) {
  auto& family = prometheus::BuildCounter().Name(Name(what)).Help(help).Register(registry);
  std::vector<prometheus::Counter*> counters;
  for (const ShardAddress& shard : shards) counters.push_back(&family.Add({{"shard", shard.name}}));
  return counters;
}

std::vector<prometheus::Gauge*> MakeGauges(prometheus::Registry& registry,
                                           absl::Span<const ShardAddress> shards, const char* what,
                                           const char* help) {
  auto& family = prometheus::BuildGauge().Name(Name(what)).Help(help).Register(registry);
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
  acknowledged =
      MakeCounters(to, shards, "acknowledged_items_total", "Trajectories that a shard has stored.");
  refused = MakeCounters(to, shards, "refused_items_total",
                         "Trajectories that a shard has refused for good.");
  resent = MakeCounters(to, shards, "resent_items_total",
                        "Trajectories sent again after a lost stream.");
  lost_streams = MakeCounters(to, shards, "lost_insert_streams_total",
                              "Insert streams that ended with an error.");
  connected = MakeGauges(to, shards, "insert_stream_connected", "1: the shard takes trajectories.");
  spooled_bytes = &prometheus::BuildGauge()
                       .Name(Name("spooled_bytes"))
                       .Help("Of trajectories that no shard has acknowledged.")
                       .Register(to)
                       .Add({});
  blocked_seconds =
      MakeCounter(to, "blocked_seconds_total", "Time that threads waited for room in the spool.");
}

SamplerMetrics::SamplerMetrics(prometheus::Registry* registry,
                               absl::Span<const ShardAddress> shards)
    : own_registry(OwnIfNone(registry)) {
  prometheus::Registry& to = registry == nullptr ? *own_registry : *registry;
  draws = MakeCounters(to, shards, "draws_total", "Positions drawn from a shard.");
  lost_streams = MakeCounters(to, shards, "lost_sample_streams_total",
                              "Sample streams that ended with an error.");
  connected = MakeGauges(to, shards, "sample_stream_connected", "1: the shard gives positions.");
  invalid_items =
      MakeCounter(to, "invalid_items_total", "Drawn trajectories that could not be read.");
  wait_seconds =
      MakeCounter(to, "draw_wait_seconds_total", "Time that threads waited for positions.");
  sent_priorities = MakeCounter(to, "sent_priorities_total", "Priorities that shards have taken.");
  dropped_priorities =
      MakeCounter(to, "dropped_priorities_total",
                  "Priorities not delivered: their shard was away, or too many waited.");
}

}  // namespace mallocmuzero
