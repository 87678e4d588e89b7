// Names of instructions and buffers for people, and the role of a buffer.

#ifndef MALLOCMUZERO_VIEW_NAMES_H_
#define MALLOCMUZERO_VIEW_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/core/program.h"

namespace mallocmuzero::view {

enum class BufferKind : uint8_t {
  kInput,       // weight, input or constant, which exists before the program starts
  kActivation,  // made and used by the program
  kOutput,      // must be in HBM at the end: results, and weights that a training step updates
  kCarried,     // in a carried group: initial value, parameter, root or result
};

inline constexpr int kBufferKindCount = 4;

// Text for people: "weight or input", "activation", "output or updated input", "carried by a loop".
absl::string_view BufferKindName(BufferKind kind);

// `text` if it has at most `limit` bytes; else its first `limit` bytes, without a character that
// would be cut, and "...".
std::string Shorten(absl::string_view text, size_t limit);

// Looks names up. The program must outlive it. Names have at most kMaxName bytes, whatever the
// program contains.
class Names {
 public:
  static constexpr size_t kMaxName = 60;

  explicit Names(const Program& program);

  // The HLO name. For the number of instructions it is "the end".
  std::string Instruction(InstructionIndex instruction) const;

  // The name of the buffer's first tensor, with its index in a tuple: "fusion.12{1}".
  std::string Tensor(BufferIndex buffer) const;

  // The shape of that tensor without layout: "bf16[8,128]". Empty if the buffer has no tensor.
  std::string Shape(BufferIndex buffer) const;

  // The role of the buffer.
  BufferKind Kind(BufferIndex buffer) const { return kinds_[buffer]; }

 private:
  const Program& program_;
  IndexVector<BufferIndex, int> first_tensors_;  // -1: none
  IndexVector<BufferIndex, BufferKind> kinds_;
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_NAMES_H_
