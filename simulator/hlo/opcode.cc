#include "simulator/hlo/opcode.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "base/enums.h"

namespace mallocmuzero::hlo {
namespace {

constexpr std::array kNames = {
#define MALLOCMUZERO_HLO_NAME(enumerator, name) absl::string_view(name),
    MALLOCMUZERO_HLO_OPCODES(MALLOCMUZERO_HLO_NAME)
#undef MALLOCMUZERO_HLO_NAME
};

}  // namespace

absl::string_view OpcodeName(Opcode opcode) {
  const size_t index = Underlying(opcode);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Opcode OpcodeFromName(absl::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, Opcode>;
    for (size_t i = 0; i < kNames.size(); ++i) map->emplace(kNames[i], static_cast<Opcode>(i));
    return map;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? Opcode::kUnknown : found->second;
}

}  // namespace mallocmuzero::hlo
