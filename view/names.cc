#include "view/names.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/utf8.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero::view {

absl::string_view BufferKindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput:
      return "weight or input";
    case BufferKind::kActivation:
      return "activation";
    case BufferKind::kOutput:
      return "output or updated input";
    case BufferKind::kCarried:
      return "carried by a loop";
  }
  return "";
}

std::string Shorten(absl::string_view text, size_t limit) {
  constexpr absl::string_view kDots = "...";
  if (text.size() <= limit) return std::string(text);
  size_t kept = limit > kDots.size() ? limit - kDots.size() : 0;
  while (kept > 0 && ContinuesUtf8Character(text[kept])) --kept;
  return absl::StrCat(text.substr(0, kept), kDots);
}

Names::Names(const Program& program)
    : program_(program), first_tensors_(program.buffer_count(), -1) {
  for (int t = program.proto().tensors_size() - 1; t >= 0; --t) {
    first_tensors_[BufferIndex(program.proto().tensors(t).buffer())] = t;
  }
  for (const Buffer& buffer : program.buffers()) {
    kinds_.push_back(buffer.live_out  ? BufferKind::kOutput
                     : buffer.live_in ? BufferKind::kInput
                                      : BufferKind::kActivation);
  }
  for (const CarriedGroup& group : program.carried_groups()) {
    for (const BufferIndex buffer :
         {group.initial_buffer, group.parameter_buffer, group.root_buffer, group.result_buffer}) {
      kinds_[buffer] = BufferKind::kCarried;
    }
  }
}

std::string Names::Instruction(InstructionIndex instruction) const {
  if (!program_.instructions().contains(instruction)) return "the end";
  return Shorten(program_.MessageOf(instruction).name(), kMaxName);
}

std::string Names::Tensor(BufferIndex buffer) const {
  if (first_tensors_[buffer] < 0) return absl::StrCat("buffer ", buffer);
  const v1::Tensor& tensor = program_.proto().tensors(first_tensors_[buffer]);
  const std::string index = tensor.tuple_index().empty()
                                ? ""
                                : absl::StrCat("{", absl::StrJoin(tensor.tuple_index(), ","), "}");
  return Shorten(absl::StrCat(tensor.instruction_name(), index), kMaxName);
}

std::string Names::Shape(BufferIndex buffer) const {
  if (first_tensors_[buffer] < 0) return "";
  const std::string& shape = program_.proto().tensors(first_tensors_[buffer]).shape();
  return Shorten(absl::string_view(shape).substr(0, shape.find('{')), kMaxName);
}

}  // namespace mallocmuzero::view
