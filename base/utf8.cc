#include "base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

bool IsBetween(char c, uint8_t low, uint8_t high) {
  const uint8_t byte = c;
  return low <= byte && byte <= high;
}

}  // namespace

size_t Utf8CharacterSize(absl::string_view text) {
  const uint8_t lead = text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  // The second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!IsBetween(text[1], low, high)) return 0;
  for (size_t i = 2; i < size; ++i) {
    if (!IsBetween(text[i], 0x80, 0xBF)) return 0;
  }
  return size;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string ToUtf8(std::string text) {
  for (size_t i = 0; i < text.size();) {
    const size_t size = Utf8CharacterSize(absl::string_view(text).substr(i));
    if (size == 0) text[i] = '?';
    i += size == 0 ? 1 : size;
  }
  return text;
}

std::string WithoutControls(std::string text, absl::string_view kept) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_iscntrl(text[i]) && !absl::StrContains(kept, text[i])) text[i] = ' ';
    // U+0080 to U+009F are C2 80 to C2 9F.
    const bool is_pair =
        text[i] == '\xC2' && i + 1 < text.size() && IsBetween(text[i + 1], 0x80, 0x9F);
    if (is_pair) text[i] = text[i + 1] = ' ';
  }
  return text;
}

std::string Abridge(absl::string_view text, size_t limit) {
  constexpr absl::string_view kDots = "..";
  if (text.size() <= limit) return std::string(text);
  const size_t tail_bytes = (limit - kDots.size()) / 2;
  size_t head = limit - kDots.size() - tail_bytes;
  size_t tail = text.size() - tail_bytes;
  while (head > 0 && ContinuesUtf8Character(text[head])) --head;
  while (tail < text.size() && ContinuesUtf8Character(text[tail])) ++tail;
  return absl::StrCat(text.substr(0, head), kDots, text.substr(tail));
}

}  // namespace mallocmuzero
