#include "simulator/validate/report.h"

#include "absl/strings/str_cat.h"

namespace mallocmuzero::validate {
namespace {

absl::string_view AccessVerb(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
    case AccessKind::kUpdate:
      return "update";
  }
  return "access";
}

}  // namespace

Report::Report(const Program& program, const Mapping& mapping)
    : program_(program), mapping_(mapping), first_tensor_(program.buffer_count(), -1) {
  for (int t = program.proto().tensors_size() - 1; t >= 0; --t) {
    first_tensor_[BufferIndex(program.proto().tensors(t).buffer())] = t;
  }
}

void Report::Add(Rule rule, size_t subject, std::string message) {
  if (full()) return;
  if (!reported_.insert({rule, subject}).second) return;
  violations_.push_back({rule, std::move(message)});
}

std::string Report::DescribeInstruction(InstructionIndex instruction) const {
  if (!program_.instructions().contains(instruction)) return "the end of the program";
  return absl::StrCat("instruction ", instruction, " ('", program_.MessageOf(instruction).name(),
                      "')");
}

std::string Report::DescribeBuffer(BufferIndex buffer) const {
  std::string name;
  if (first_tensor_[buffer] >= 0) {
    const v1::Tensor& tensor = program_.proto().tensors(first_tensor_[buffer]);
    name = absl::StrCat("'", tensor.instruction_name());
    for (const uint32_t index : tensor.tuple_index()) absl::StrAppend(&name, "{", index, "}");
    absl::StrAppend(&name, "', ");
  }
  return absl::StrCat("buffer ", buffer, " (", name, program_.buffers()[buffer].bytes, " bytes)");
}

std::string Report::DescribeInterval(size_t interval) const {
  const auto& it = mapping_.intervals[interval];
  return absl::StrCat("interval ", interval, " of ", DescribeBuffer(it.buffer), " over [", it.first,
                      ", ", it.last, "]");
}

std::string Report::DescribeAccess(AccessIndex access) const {
  const auto& a = program_.accesses()[access];
  return absl::StrCat(AccessVerb(a.kind), " of ", DescribeBuffer(a.buffer), " by ",
                      DescribeInstruction(a.instruction), " (access ", access, ")");
}

std::string Report::DescribeGroup(CarriedGroupIndex group) const {
  return absl::StrCat("carried group ", group, " of ",
                      DescribeLoop(program_.carried_groups()[group].loop));
}

std::string Report::DescribeLoop(LoopIndex loop) const {
  return absl::StrCat("loop ", loop, " ('", program_.MessageOf(loop).name(), "')");
}

}  // namespace mallocmuzero::validate
