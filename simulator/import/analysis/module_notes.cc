#include "simulator/import/analysis/module_notes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "simulator/core/hardware.h"

namespace mallocmuzero {
namespace {

bool HasEstimates(const AnalyzedModule& analyzed) {
  return std::any_of(analyzed.priced.begin(), analyzed.priced.end(), [](const PricedStep& priced) {
    return priced.instruction->estimated_cycles.has_value();
  });
}

// The built-in chips by the memory space that is their fast memory.
std::map<int64_t, std::vector<std::string>> ChipsBySpace() {
  std::map<int64_t, std::vector<std::string>> chips;
  for (const std::string& name : BuiltInHardwareNames()) {
    const absl::StatusOr<v1::Hardware> hardware = LoadHardware(name);
    if (hardware.ok()) chips[hardware->fast_memory_space()].push_back(name);
  }
  return chips;
}

}  // namespace

std::vector<std::string> ModuleNotes(const AnalyzedModule& analyzed, const v1::Hardware& hardware) {
  std::vector<std::string> notes;
  if (!analyzed.priced.empty() && !HasEstimates(analyzed)) {
    notes.push_back(
        "no instruction has the compiler's estimate (estimated_cycles), so all cycles are of the "
        "roofline; was the module dumped before the compiler made estimates?");
  }
  for (const auto& [space, chips] : ChipsBySpace()) {
    if (space == hardware.fast_memory_space()) continue;
    int64_t arrays = 0;
    for (const HloValue& value : analyzed.flow.values()) {
      if (value.shape->layout.memory_space == space) ++arrays;
    }
    if (arrays == 0) continue;
    notes.push_back(absl::StrCat(
        arrays, arrays == 1 ? " array is" : " arrays are", " in memory space ", space,
        ", the fast memory of ", absl::StrJoin(chips, ", "), "; that of ", hardware.name(), " is ",
        hardware.fast_memory_space(), "; was the module compiled for another chip?"));
  }
  return notes;
}

}  // namespace mallocmuzero
