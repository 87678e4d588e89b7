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

// Where an instruction defines a value: its output, or one array of it.
struct Definition {
  std::string instruction;            // HLO name without '%'
  std::vector<uint32_t> tuple_index;  // into the output's tuple shape; empty for an array

  // Size as laid out, if known, bytes. The compiler compares it before it matches names, which
  // takes it most of the time that overrides cost.
  absl::optional<int64_t> bytes;
};

// Where an instruction uses a value: an operand, or one array of it.
struct Use {
  std::string instruction;            // HLO name without '%'
  int32_t operand = 0;                // operand number
  std::vector<uint32_t> tuple_index;  // into the operand's tuple shape; empty for an array

  // Bounds on the size as laid out, bytes. The compiler applies an override of a use to outputs of
  // the instruction too if tuple index and size fit, whatever their number (docs/overrides.md): a
  // bound between the two sizes makes it mean the operand alone.
  absl::optional<int64_t> size_gte;
  absl::optional<int64_t> size_lte;
};

// When a copy from HBM is to start.
struct PrefetchTime {
  enum class Kind : uint8_t { kEagerness, kBefore, kAfter };

  Kind kind = Kind::kEagerness;
  std::string instruction;  // HLO name; unused for kEagerness
  // Where between the earliest start that there is room for, 0, and the compiler's own choice, 1;
  // for kEagerness only. The name is the compiler's.
  double eagerness = 0;
};

// Regular expression that matches this name and no other, quoted for text format: a dot in it has
// two backslashes there.
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

// Hands out fast memory to a value before all those without such an override; between those with
// one, in the order of the list.
std::string AssignFirst(const Definition& definition);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_OVERRIDE_TEXT_H_
