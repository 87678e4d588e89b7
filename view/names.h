// What to call instructions and buffers, and what a buffer is for.

#ifndef MALLOCMUZERO_VIEW_NAMES_H_
#define MALLOCMUZERO_VIEW_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/core/program.h"

namespace mallocmuzero::view {

enum class BufferKind : uint8_t {
  kInput,       // weight, input or constant: there before the program starts
  kActivation,  // made and used by the program
  kOutput,      // must be in HBM at the end: results, and weights that a training step updates
  kCarried,     // linked by a loop: initial value, parameter, root or result
};

inline constexpr int kBufferKindCount = 4;

// For people: "weight or input", "activation", "output or updated input", "carried by a
// loop".
absl::string_view BufferKindName(BufferKind kind);

// `text` or its first `limit` bytes less half a character, with "..." in place of the rest.
std::string Shorten(absl::string_view text, size_t limit);

// `text`, or its beginning and end in at most `limit` bytes, 5 or more, with ".." between them: HLO
// names differ at their ends. Bytes that are no ASCII may be cut in half; EscapeXml mends that.
std::string Abridge(absl::string_view text, size_t limit);

// Looks names up; the program must outlive it. Names are at most kMaxName bytes long, whatever the
// program holds.
class Names {
 public:
  static constexpr size_t kMaxName = 60;

  explicit Names(const Program& program);

  // HLO name; for the number of instructions "the end".
  std::string Instruction(uint32_t instruction) const;

  // Name of the buffer's first tensor with its place in a tuple: "fusion.12{1}".
  std::string Tensor(uint32_t buffer) const;

  // Shape of that tensor without layout: "bf16[8,128]". Empty if the buffer has no tensor.
  std::string Shape(uint32_t buffer) const;

  BufferKind Kind(uint32_t buffer) const { return kinds_[buffer]; }

 private:
  const Program& program_;
  std::vector<int> first_tensors_;  // by buffer, -1: none
  std::vector<BufferKind> kinds_;   // by buffer
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_NAMES_H_
