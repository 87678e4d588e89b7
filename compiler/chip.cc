#include "compiler/chip.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mallocmuzero {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

constexpr char kCmemAssignment[] = "xla_tpu_cmem_memory_space_assignment";
constexpr char kVfVmemAssignment[] = "xla_vf_vmem_memory_space_assignment";
constexpr char kGfVmemAssignment[] = "xla_gf_vmem_memory_space_assignment";

// Must agree with CHIPS in tools/xla/src/mallocmuzero_xla/chips.py.
constexpr CompilerChip kChips[] = {
    {"tpu_v4", "v4:2x2x1", kCmemAssignment, 0},
    {"tpu_v4i", "v4 lite:1x1", kCmemAssignment, 0},
    {"tpu_v5e", "v5e:1x1", kVfVmemAssignment, 16 * kMebibyte},
    {"tpu_v5p", "v5p:2x2x1", kVfVmemAssignment, 16 * kMebibyte},
    {"tpu_v6e", "v6e:1x1", kGfVmemAssignment, 32 * kMebibyte},
    {"tpu7x", "tpu7x:1x1x1", kGfVmemAssignment, 32 * kMebibyte},
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

}  // namespace mallocmuzero
