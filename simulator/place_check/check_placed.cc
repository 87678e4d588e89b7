#include "simulator/place_check/check_placed.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "simulator/place_check/flights.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/graph.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/memory.h"
#include "simulator/place_check/order.h"
#include "simulator/place_check/read_only.h"
#include "simulator/place_check/report.h"
#include "simulator/place_check/spaces.h"
#include "simulator/place_check/values.h"

namespace mallocmuzero {
namespace {

using place_check::Graph;
using place_check::Report;

// Checks order and memory of the schedule. Checks memory only if the schedule can run.
void CheckSchedule(const Graph& original, const place_check::Flow& flow, const Graph& placed,
                   const place_check::Match& match, const PlacedCheckOptions& options,
                   Report& report, PlacedCheck& result) {
  const size_t before = report.size();
  const place_check::Order was = place_check::ReadOrder(original, nullptr);
  const place_check::Order is = place_check::ReadOrder(placed, &report);
  if (!was.complete) {
    report.Add(PlacedRule::kMalformedOriginal, "its schedule lacks instructions");
    return;
  }
  if (!is.complete) return;
  place_check::CompareOrders(original, was, placed, is, match, options.allow_reordering, report);
  const place_check::Buffers buffers(flow, report);
  const place_check::ValuesInFlight in_flight = place_check::FindValuesInFlight(flow);
  place_check::CheckFlights(flow, in_flight, report);
  place_check::CheckReadOnly(flow, in_flight, report);
  // A walk in an order that cannot run would report every read as stale.
  const bool runs = report.size() == before;
  Report unheard;
  const place_check::MemoryTrace trace =
      place_check::WalkMemory(flow, buffers, in_flight, is, runs ? report : unheard);
  const place_check::Peak peak = place_check::FindPeak(flow, buffers, trace, options);
  result.peak_bytes = peak.bytes;
  if (peak.step < trace.steps.size()) {
    result.peak_instruction =
        placed.Describe(trace.steps[peak.step].first, trace.steps[peak.step].second);
  }
  if (peak.bytes > options.capacity_bytes) {
    report.Add(PlacedRule::kCapacity, "live values take ", peak.bytes, " bytes while ",
               result.peak_instruction, " runs; ", options.capacity_bytes, " are for them");
  }
}

}  // namespace

PlacedCheck ExaminePlaced(const xla::HloModuleProto& original, const xla::HloModuleProto& placed,
                          const PlacedCheckOptions& options) {
  Report report;
  PlacedCheck result;
  const absl::StatusOr<Graph> was = place_check::BuildGraph(original);
  const absl::StatusOr<Graph> is = place_check::BuildGraph(placed);
  if (!was.ok()) report.Add(PlacedRule::kMalformedOriginal, was.status().message());
  if (!is.ok()) report.Add(PlacedRule::kMalformedPlaced, is.status().message());
  if (was.ok() && is.ok()) {
    place_check::CompareModuleFields(*was, *is, report);
    const place_check::Match match =
        place_check::MatchModules(*was, *is, options.fast_memory_space, report);
    place_check::CheckShapes(*was, *is, match, report);
    place_check::CheckSpaces(*was, *is, match, options.fast_memory_space, report);
    place_check::CheckMovePairs(*is, report);
    place_check::CheckCrossProgramPrefetches(*is, report);
    const place_check::Flow flow_was(*was);
    const place_check::Flow flow_is(*is);
    place_check::CheckValues(flow_was, flow_is, match, report);
    CheckSchedule(*was, flow_is, *is, match, options, report, result);
  }
  result.violations = report.Take();
  return result;
}

}  // namespace mallocmuzero
