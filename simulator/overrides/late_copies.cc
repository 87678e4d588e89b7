#include "simulator/overrides/late_copies.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "simulator/core/simulate.h"
#include "simulator/overrides/override_text.h"
#include "simulator/overrides/positions.h"

namespace mallocmuzero {
namespace {

using LateCopy = v1::ReadBackReport::LateCopy;

// The earliest start of a copy can delay other copies, so that later starts are offered, too.
constexpr double kEagerness[] = {0, 0.5, 0.75};

// The first access in fast memory that the copy at the start of an interval serves.
std::optional<AccessIndex> FirstServed(const Program& program, const Mapping& mapping,
                                       const Interval& interval) {
  for (const AccessIndex a : program.AccessesOfBuffer(interval.buffer)) {
    const InstructionIndex instruction = program.accesses()[a].instruction;
    if (instruction < interval.copy_in_done) continue;
    if (instruction > interval.last) return std::nullopt;
    if (mapping.in_fast_memory[a] != 0) return a;
  }
  return std::nullopt;
}

}  // namespace

void AddLateCopies(const Program& program, const Mapping& read_back, v1::ReadBackReport& report) {
  std::map<uint32_t, double> waits;  // by interval: the trace has a copy for each slice
  for (const TraceCopy& copy : SimulateTrace(program, read_back).copies) {
    if (copy.direction != CopyDirection::kIn || copy.wait_cycles <= 0) continue;
    const InstructionIndex done = read_back.intervals[copy.interval].copy_in_done;
    waits[copy.interval] += copy.wait_cycles * program.instructions()[done].execution_count;
  }
  std::vector<LateCopy> late;
  for (const auto& [index, cycles] : waits) {
    const Interval& interval = read_back.intervals[index];
    const std::optional<AccessIndex> access = FirstServed(program, read_back, interval);
    if (!access) continue;
    const std::vector<Use> uses = UsesOf(program, *access, read_back);
    if (uses.empty()) continue;
    LateCopy& copy = late.emplace_back();
    copy.set_access(access->number());
    copy.set_instruction(InstructionName(program, program.accesses()[*access].instruction));
    copy.set_bytes(static_cast<double>(program.buffers()[interval.buffer].bytes));
    copy.set_wait_cycles(cycles);
    for (const double eagerness : kEagerness) {
      *copy.add_tensor_overrides() = Prefetch(
          uses.front(),
          {.kind = PrefetchTime::Kind::kEagerness, .instruction = "", .eagerness = eagerness});
    }
  }
  std::stable_sort(late.begin(), late.end(), [](const LateCopy& a, const LateCopy& b) {
    return a.wait_cycles() > b.wait_cycles();
  });
  report.mutable_late_copies()->Assign(late.begin(), late.end());
}

}  // namespace mallocmuzero
