#include "replay/client/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "metrics/families.h"

namespace mallocmuzero {
namespace {

std::string Name(const char* what) { return absl::StrCat("mallocmuzero_replay_client_", what); }

}  // namespace

WriterMetrics::WriterMetrics(prometheus::Registry* registry) : used_registry(registry) {
  prometheus::Registry& to = used_registry.get();
  acknowledged =
      &MakeCounters(to, Name("acknowledged_items_total"), "Trajectories that a shard has stored.");
  refused = &MakeCounters(to, Name("refused_items_total"),
                          "Trajectories that a shard has refused for good.");
  resent = &MakeCounters(to, Name("resent_items_total"),
                         "Trajectories sent again after a stream that was open is lost.");
  lost_streams =
      &MakeCounters(to, Name("lost_insert_streams_total"),
                    "Insert streams that were open and ended; attempts to open one do not count.");
  connected = &MakeGauges(to, Name("insert_stream_connected"), "1: the insert stream is open.");
  spooled_bytes = &MakeGauge(to, Name("spooled_bytes"),
                             "Bytes of trajectories that no shard has acknowledged.");
  blocked_seconds = &MakeCounter(to, Name("blocked_seconds_total"),
                                 "Time that threads waited for room in the spool.");
}

WriterMetrics::OfShard WriterMetrics::Of(const std::string& shard) const {
  const prometheus::Labels labels = {{"shard", shard}};
  return {.acknowledged = &acknowledged->Add(labels),
          .refused = &refused->Add(labels),
          .resent = &resent->Add(labels),
          .lost_streams = &lost_streams->Add(labels),
          .connected = &connected->Add(labels)};
}

void WriterMetrics::Forget(const std::string& shard) const {
  connected->Remove(Of(shard).connected);
}

SamplerMetrics::SamplerMetrics(prometheus::Registry* registry) : used_registry(registry) {
  prometheus::Registry& to = used_registry.get();
  draws = &MakeCounters(to, Name("draws_total"), "Positions drawn from a shard.");
  lost_streams = &MakeCounters(
      to, Name("lost_sample_streams_total"),
      "Sample streams that gave positions and ended; attempts to open one do not count.");
  connected = &MakeGauges(to, Name("sample_stream_connected"), "1: the shard gives positions.");
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

SamplerMetrics::OfShard SamplerMetrics::Of(const std::string& shard) const {
  const prometheus::Labels labels = {{"shard", shard}};
  return {.draws = &draws->Add(labels),
          .lost_streams = &lost_streams->Add(labels),
          .connected = &connected->Add(labels)};
}

}  // namespace mallocmuzero
