// The differences of a mapping from the compiler's default, as options for the real compiler.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_EXPORT_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_EXPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Compiler options of libtpu.
inline constexpr char kTensorOverridesOption[] = "xla_tpu_msa_tensor_overrides";
inline constexpr char kSortOrderOverridesOption[] = "xla_tpu_msa_sort_order_overrides";

enum class OverrideScope : uint8_t {
  kValues,  // whole values only
  kUses,    // also single uses of values that differ from the default in part
};

// Options that move the compiler from its default towards `wanted`. Only differences are exported;
// docs/overrides.md says which ones and why. NotFound if the program has no baseline. Asks `stop`
// before each item is priced, which takes a simulation of the program. Once it is true, the other
// items have a gain of 0.
absl::StatusOr<v1::OverridesReport> ExportOverrides(
    const Program& program, const Mapping& wanted, OverrideScope scope,
    const std::function<bool()>& stop = [] { return false; });

// A "name=value" line for each option; empty if there is none.
std::string OptionLines(const v1::OverridesReport& report);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_EXPORT_H_
