// Text of the two messages that libtpu's memory-space assignment reads its orders from,
// MsaTensorOverrides and MsaSortOrderOverrides. Each function returns one `overrides { ... }`
// without a newline; a list of overrides is their concatenation.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_OVERRIDE_TEXT_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_OVERRIDE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace mallocmuzero {

// A place at which an instruction defines a value: its output, or one array of the output.
struct Definition {
  std::string instruction;            // HLO name without '%'
  std::vector<uint32_t> tuple_index;  // into the output's tuple shape; empty for an array

  // Size as laid out, if known, bytes. The compiler compares the size before it matches names, and
  // matching names is most of the time that overrides cost.
  absl::optional<int64_t> bytes;
};

// A place at which an instruction uses a value: an operand, or one array of the operand.
struct Use {
  std::string instruction;            // HLO name without '%'
  int32_t operand = 0;                // operand number
  std::vector<uint32_t> tuple_index;  // into the operand's tuple shape; empty for an array

  // Bounds on the size as laid out, bytes. The compiler also applies an override of a use to
  // outputs of the instruction whose tuple index and size fit (docs/overrides.md). A bound between
  // the two sizes restricts the override to the operand.
  absl::optional<int64_t> size_gte;
  absl::optional<int64_t> size_lte;
};

// The time at which a copy from HBM should start.
struct PrefetchTime {
  enum class Kind : uint8_t { kEagerness, kBefore, kAfter };

  Kind kind = Kind::kEagerness;
  std::string instruction;  // HLO name; unused for kEagerness
  // 0 is the earliest start that there is room for, 1 is the compiler's own choice; for kEagerness
  // only. The name is the compiler's.
  double eagerness = 0;
};

// A regular expression that matches this name and no other, quoted for text format: a dot has two
// backslashes.
std::string QuotedNameRegex(absl::string_view name);

// Keeps a value in HBM where it is written; its uses may still be given a copy.
std::string KeepInHbm(const Definition& definition);

// Keeps one use of a value in HBM.
std::string KeepInHbm(const Use& use);

// Asks for a copy from HBM for one use. The compile fails if there is no time or room for it.
std::string Prefetch(const Use& use, const PrefetchTime& time);

// Keeps a value in fast memory from its definition to its last use. The compile fails if there is
// no room, so the value should be assigned first too.
std::string PinInFastMemory(const Definition& definition);

// Assigns fast memory to a value before all values without such an override. Values with one are
// assigned in the order of the list.
std::string AssignFirst(const Definition& definition);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_OVERRIDE_TEXT_H_
