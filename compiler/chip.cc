#include "compiler/chip.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

constexpr char kCmemAssignment[] = "xla_tpu_cmem_memory_space_assignment";
constexpr char kVfVmemAssignment[] = "xla_vf_vmem_memory_space_assignment";
constexpr char kGfVmemAssignment[] = "xla_gf_vmem_memory_space_assignment";

// Must agree with CHIPS in tools/xla/src/mallocmuzero_xla/chips.py.
constexpr CompilerChip kChips[] = {
    {"tpu_v4", "v4:2x2x1", "v4", "v4", kCmemAssignment, 0},
    {"tpu_v4i", "v4 lite:1x1", "v4 lite", "v4 lite", kCmemAssignment, 0},
    {"tpu_v5e", "v5e:1x1", "v5e", "v5 lite", kVfVmemAssignment, 16 * kMebibyte},
    {"tpu_v5p", "v5p:2x2x1", "v5p", "v5", kVfVmemAssignment, 16 * kMebibyte},
    {"tpu_v6e", "v6e:1x1", "v6e", "v6 lite", kGfVmemAssignment, 32 * kMebibyte},
    {"tpu7x", "tpu7x:1x1x1", "tpu7x", "tpu7x", kGfVmemAssignment, 32 * kMebibyte},
};

}  // namespace

absl::StatusOr<CompilerChip> FindCompilerChip(absl::string_view name) {
  for (const CompilerChip& chip : kChips) {
    if (name == chip.name) return chip;
  }
  const auto add_name = [](std::string* out, const CompilerChip& chip) { *out += chip.name; };
  return absl::NotFoundError(absl::StrCat("chip: the compiler is known to compile for ",
                                          absl::StrJoin(kChips, ", ", add_name), ", not for ",
                                          name));
}

absl::Status CheckTopologyIsOf(const CompilerChip& chip, absl::string_view topology) {
  // The compiler also takes "TPU v6e=2x2" and "v6e_2x2".
  const std::string lower =
      absl::AsciiStrToLower(topology.substr(0, topology.find_first_of("=_:")));
  const absl::string_view name = absl::StripPrefix(lower, "tpu ");
  for (const CompilerChip& other : kChips) {
    if (name != other.topology_name && name != other.other_topology_name) continue;
    if (absl::string_view(other.name) == chip.name) break;
    return absl::InvalidArgumentError(absl::StrCat("topology: '", topology, "' is of ", other.name,
                                                   ", not of ", chip.name, ": one such as '",
                                                   chip.topology, "' expected"));
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
