// The copies of a mapping: their starts, their waits, and the values that they make.

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simulator/place/placer.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {

absl::Status Placer::RunPoints(Frame& frame, InstructionIndex point) {
  for (; next_point_ <= point; ++next_point_) {
    for (const CopyEvent& event : points_.At(next_point_)) {
      MMZ_RETURN_IF_ERROR(RunEvent(frame, event));
    }
  }
  return absl::OkStatus();
}

absl::Status Placer::RunEvent(Frame& frame, const CopyEvent& event) {
  switch (event.kind) {
    case CopyEvent::Kind::kStartIn:
      ++result_.copies_in;
      return StartCopy(frame, event.interval, Memory::kHbm);
    case CopyEvent::Kind::kStartOut:
      ++result_.copies_out;
      return StartCopy(frame, event.interval, Memory::kFast);
    case CopyEvent::Kind::kDoneIn:
      return FinishCopy(frame, event.interval, Memory::kHbm);
    case CopyEvent::Kind::kDoneOut:
      return FinishCopy(frame, event.interval, Memory::kFast);
  }
  return absl::OkStatus();
}

absl::Status Placer::StartCopy(Frame& frame, uint32_t interval, Memory from) {
  const Interval& it = mapping_.intervals[interval];
  if (!it.copy_in_slices.empty() && from == Memory::kHbm) {
    return CannotExpress(
        it.buffer, "its copy into fast memory is in pieces; the compiler would not join them");
  }
  if (current_[it.buffer] < 0) HoistConstant(frame, it.buffer);
  const ValueId value = current_[it.buffer];
  const absl::optional<ArrayName> name = value < 0 ? absl::nullopt : frame.NameOf(value, from);
  if (!name) {
    return CannotExpress(it.buffer,
                         absl::StrCat("the computation in which its copy ",
                                      from == Memory::kHbm ? "into fast memory" : "to HBM",
                                      " starts does not have the value"));
  }
  const int64_t source = frame.writer().Element(name->instruction, name->index, nullptr);
  const xla::ShapeProto source_shape = frame.writer().ShapeOf(source);
  xla::ShapeProto target_shape = source_shape;
  SetMemorySpace(target_shape, {},
                 from == Memory::kHbm ? program_.hardware().fast_memory_space() : 0);
  const int64_t start = frame.writer().AppendNew(
      "copy-start", TupleShape({target_shape, source_shape, CopyContextShape()}), {source});
  in_flight_[interval] = {frame.instance(), start, value};
  return absl::OkStatus();
}

absl::Status Placer::FinishCopy(Frame& frame, uint32_t interval, Memory from) {
  const auto flight = in_flight_.find(interval);
  const Interval& it = mapping_.intervals[interval];
  if (flight == in_flight_.end() || flight->second.instance != frame.instance()) {
    return CannotExpress(it.buffer, "its copy starts and ends in different computations");
  }
  const xla::ShapeProto target_shape = frame.writer().ShapeOf(flight->second.start).tuple_shapes(0);
  const int64_t done = frame.writer().AppendNew("copy-done", target_shape, {flight->second.start});
  const Memory to = from == Memory::kHbm ? Memory::kFast : Memory::kHbm;
  frame.SetName(flight->second.value, to, {done, {}});
  in_flight_.erase(flight);
  return absl::OkStatus();
}

void Placer::HoistConstant(Frame& frame, BufferIndex buffer) {
  for (ValueId value = 0; value < flow().values().size(); ++value) {
    const HloValue& definition = flow().values()[value];
    if (source_.BufferOf(value) != buffer) continue;
    const hlo::Computation& home = schedule().ComputationOf(definition.instance);
    const hlo::Instruction& constant = home.instructions[definition.instruction];
    if (constant.opcode != hlo::Opcode::kConstant) continue;
    for (const xla::HloInstructionProto& original :
         editor_.FindComputation(home.name)->instructions()) {
      if (original.name() != constant.name) continue;
      xla::HloInstructionProto copy = original;
      copy.set_id(editor_.NewId());
      copy.set_name(editor_.NewName("constant"));
      copy.clear_control_predecessor_ids();
      frame.SetName(value, Memory::kHbm, {frame.writer().Append(std::move(copy)), {}});
      hoisted_constants_.push_back(value);
      current_[buffer] = value;
      return;
    }
  }
}

// Starts the cross-program prefetch, which is queued before all other copies. Its first use waits
// for it.
absl::Status Placer::StartPrefetch(Frame& frame) {
  const int32_t interval = points_.cross_program_prefetch();
  if (interval < 0) return absl::OkStatus();
  MMZ_RETURN_IF_ERROR(StartCopy(frame, interval, Memory::kHbm));
  const Flight& flight = in_flight_[interval];
  const HloValue& definition = flow().values()[flight.value];
  const hlo::Instruction& parameter =
      schedule().ComputationOf(definition.instance).instructions[definition.instruction];
  if (definition.instance != 0 || parameter.opcode != hlo::Opcode::kParameter ||
      parameter.shape.IsTuple()) {
    return CannotExpress(mapping_.intervals[interval].buffer,
                         "the cross-program prefetch is not of a parameter that is an array");
  }
  frame.writer().Written(flight.start).set_cross_program_prefetch_index(0);
  xla::CrossProgramPrefetch& prefetch = *editor_.module().add_cross_program_prefetches();
  prefetch.set_parameter(*parameter.parameter_number);
  return absl::OkStatus();
}

absl::Status Placer::FinishPrefetch(Frame& frame) {
  const int32_t interval = points_.cross_program_prefetch();
  if (interval < 0 || step_ < 0 || !in_flight_.contains(interval)) {
    return absl::OkStatus();
  }
  const BufferIndex buffer = mapping_.intervals[interval].buffer;
  const Instruction& instruction = program_.instructions()[step_];
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const AccessIndex access = instruction.first_access + k;
    if (program_.accesses()[access].buffer == buffer && mapping_.in_fast_memory[access] != 0) {
      return FinishCopy(frame, interval, Memory::kHbm);
    }
  }
  return absl::OkStatus();
}

// Waits for the prefetch before a loop or a conditional that uses it. Inside a loop, every pass
// would wait, and inside a branch, the other branches would not.
absl::Status Placer::FinishPrefetchBefore(Frame& frame, InstructionIndex begin,
                                          InstructionIndex end) {
  const int32_t interval = points_.cross_program_prefetch();
  if (interval < 0 || !in_flight_.contains(interval)) {
    return absl::OkStatus();
  }
  if (!points_.NeedsInside(mapping_.intervals[interval].buffer, begin, end).fast) {
    return absl::OkStatus();
  }
  return FinishCopy(frame, interval, Memory::kHbm);
}

}  // namespace mallocmuzero::place
