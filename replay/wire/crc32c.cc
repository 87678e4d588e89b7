#include "replay/wire/crc32c.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 with its bits reversed

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ByTable(uint32_t crc, absl::string_view bytes) {
  for (const uint8_t byte : bytes) crc = kTable[(crc ^ byte) & 0xff] ^ crc >> 8;
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t ByInstruction(uint32_t crc, absl::string_view bytes) {
  uint64_t wide = crc;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return ByTable(wide, bytes.substr(i));
}
#endif

uint32_t Extend(uint32_t crc, absl::string_view bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ByInstruction(crc, bytes);
#endif
  return ByTable(crc, bytes);
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) { return ~Extend(~uint32_t{0}, bytes); }

}  // namespace mallocmuzero
