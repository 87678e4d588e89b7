#include "simulator/core/program_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "simulator/core/field_checks.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping_checks.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

using field_checks::CheckIndex;
using field_checks::CheckRange;
using field_checks::Element;
using field_checks::Error;
using field_checks::kMaxBytes;
using field_checks::kMaxExecutions;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// As for instructions in the latency table.
constexpr double kMaxCycles = 9007199254740992.0;  // 2^53

// Indices are stored as int32_t in places, with -1 for none.
constexpr int kMaxCount = 1 << 28;

// InvalidArgument if any double in the message or in its submessages is NaN or infinite.
absl::Status CheckFinite(const Message& message, const std::string& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* f : fields) {
    const std::string path = absl::StrCat(field, field.empty() ? "" : ".", f->name());
    const int count = f->is_repeated() ? reflection.FieldSize(message, f) : 1;
    for (int i = 0; i < count; ++i) {
      if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        MMZ_RETURN_IF_ERROR(f->is_repeated()
                                ? CheckFinite(reflection.GetRepeatedMessage(message, f, i),
                                              absl::StrCat(path, "[", i, "]"))
                                : CheckFinite(reflection.GetMessage(message, f), path));
      } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        const double value = f->is_repeated() ? reflection.GetRepeatedDouble(message, f, i)
                                              : reflection.GetDouble(message, f);
        if (!std::isfinite(value)) return Error(path, "a finite number", value);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const v1::Program& program) {
  const std::pair<const char*, int> counts[] = {
      {"instructions", program.instructions_size()},
      {"accesses", program.accesses_size()},
      {"buffers", program.buffers_size()},
      {"loops", program.loops_size()},
  };
  for (const auto& [field, count] : counts) {
    if (count > kMaxCount) return Error(field, absl::StrCat("up to ", kMaxCount), count);
  }
  if (program.instructions_size() == 0) return Error("instructions", "at least one", 0);
  return absl::OkStatus();
}

absl::Status CheckBuffers(const v1::Program& program) {
  for (int b = 0; b < program.buffers_size(); ++b) {
    const v1::Buffer& buffer = program.buffers(b);
    MMZ_RETURN_IF_ERROR(CheckRange(buffer.bytes(), 1, kMaxBytes, Element("buffers", b, "bytes")));
    MMZ_RETURN_IF_ERROR(
        CheckIndex(buffer.last(), program.instructions_size(), Element("buffers", b, "last")));
    MMZ_RETURN_IF_ERROR(CheckRange(buffer.first(), 0, buffer.live_in() ? 0 : buffer.last(),
                                   Element("buffers", b, "first")));
  }
  for (int t = 0; t < program.tensors_size(); ++t) {
    const v1::Tensor& tensor = program.tensors(t);
    MMZ_RETURN_IF_ERROR(
        CheckIndex(tensor.buffer(), program.buffers_size(), Element("tensors", t, "buffer")));
    MMZ_RETURN_IF_ERROR(CheckRange(tensor.bytes(), 0, program.buffers(tensor.buffer()).bytes(),
                                   Element("tensors", t, "bytes")));
  }
  return absl::OkStatus();
}

absl::Status CheckAccess(const v1::Program& program, int a) {
  const v1::Access& access = program.accesses(a);
  if (access.kind() != v1::Access::READ && access.kind() != v1::Access::WRITE &&
      access.kind() != v1::Access::UPDATE) {
    return Error(Element("accesses", a, "kind"), "READ, WRITE or UPDATE", access.kind());
  }
  MMZ_RETURN_IF_ERROR(
      CheckIndex(access.buffer(), program.buffers_size(), Element("accesses", a, "buffer")));
  MMZ_RETURN_IF_ERROR(CheckRange(access.bytes(), 0, kMaxBytes, Element("accesses", a, "bytes")));
  MMZ_RETURN_IF_ERROR(
      CheckRange(access.bytes_accessed(), 0, kMaxBytes, Element("accesses", a, "bytes_accessed")));
  for (const v1::Position& position : access.positions()) {
    if (position.operand() < -1) {
      return Error(Element("accesses", a, "positions.operand"), "-1 or more", position.operand());
    }
  }
  const v1::Buffer& buffer = program.buffers(access.buffer());
  if (access.instruction() < buffer.first() || access.instruction() > buffer.last()) {
    return Error(Element("accesses", a, "instruction"),
                 absl::StrCat("one in the live range ", buffer.first(), " to ", buffer.last(),
                              " of buffer ", access.buffer()),
                 access.instruction());
  }
  return absl::OkStatus();
}

// Checks the accesses of one instruction: each refers back to the instruction, and the instruction
// accesses each buffer at most once with each kind.
absl::Status CheckAccessesOf(const v1::Program& program, int i) {
  const int first = program.instructions(i).first_access();
  const int end = first + program.instructions(i).access_count();
  for (int a = first; a < end; ++a) {
    const v1::Access& access = program.accesses(a);
    if (access.instruction() != i) {
      return Error(Element("accesses", a, "instruction"), absl::StrCat(i), access.instruction());
    }
    MMZ_RETURN_IF_ERROR(CheckAccess(program, a));
    for (int other = first; other < a; ++other) {
      if (program.accesses(other).buffer() == access.buffer() &&
          program.accesses(other).kind() == access.kind()) {
        return Error(Element("accesses", a, "buffer"),
                     absl::StrCat("one access of each kind to a buffer by instruction ", i),
                     absl::StrCat("accesses ", other, " and ", a));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInstruction(const v1::Program& program, int i, int64_t next_access) {
  const v1::Instruction& instruction = program.instructions(i);
  const auto field = [i](absl::string_view member) { return Element("instructions", i, member); };
  if (instruction.kind() < v1::Instruction::ESTIMATED ||
      instruction.kind() > v1::Instruction::LOOP_END) {
    return Error(field("kind"), "ESTIMATED, MODELLED, LOOP_BEGIN or LOOP_END", instruction.kind());
  }
  if (instruction.first_access() != next_access) {
    return Error(field("first_access"), absl::StrCat(next_access), instruction.first_access());
  }
  const int64_t most = std::min<int64_t>(
      IsMarker(KindFromProto(instruction.kind())) ? 0 : kMaxAccessesPerInstruction,
      program.accesses_size() - next_access);
  MMZ_RETURN_IF_ERROR(CheckRange(instruction.access_count(), 0, most, field("access_count")));
  MMZ_RETURN_IF_ERROR(
      CheckRange(instruction.execution_count(), 0, kMaxExecutions, field("execution_count")));
  MMZ_RETURN_IF_ERROR(
      CheckRange(instruction.fixed_hbm_bytes(), 0, kMaxBytes, field("fixed_hbm_bytes")));
  return CheckAccessesOf(program, i);
}

absl::Status CheckInstructions(const v1::Program& program) {
  int64_t next_access = 0;
  for (int i = 0; i < program.instructions_size(); ++i) {
    MMZ_RETURN_IF_ERROR(CheckInstruction(program, i, next_access));
    next_access += program.instructions(i).access_count();
  }
  if (next_access != program.accesses_size()) {
    return Error("accesses", absl::StrCat(next_access, " (the sum of access_count)"),
                 program.accesses_size());
  }
  return absl::OkStatus();
}

absl::Status CheckLoop(const v1::Program& program, int l) {
  const v1::Loop& loop = program.loops(l);
  const auto field = [l](absl::string_view member) { return Element("loops", l, member); };
  MMZ_RETURN_IF_ERROR(CheckIndex(loop.end(), program.instructions_size(), field("end")));
  MMZ_RETURN_IF_ERROR(CheckIndex(loop.begin(), loop.end(), field("begin")));
  MMZ_RETURN_IF_ERROR(CheckRange(loop.trip_count(), 0, kMaxExecutions, field("trip_count")));
  if (loop.has_parent()) MMZ_RETURN_IF_ERROR(CheckIndex(loop.parent(), l, field("parent")));
  if (program.instructions(loop.begin()).kind() != v1::Instruction::LOOP_BEGIN) {
    return Error(field("begin"), "the index of a LOOP_BEGIN", loop.begin());
  }
  if (program.instructions(loop.end()).kind() != v1::Instruction::LOOP_END) {
    return Error(field("end"), "the index of a LOOP_END", loop.end());
  }
  return absl::OkStatus();
}

// Walks the schedule with a stack of open loops and checks that instructions and loops agree.
class LoopWalk {
 public:
  explicit LoopWalk(const v1::Program& program)
      : program_(program), loop_at_(program.instructions_size(), -1) {}

  absl::Status Run() {
    for (int l = 0; l < program_.loops_size(); ++l) {
      MMZ_RETURN_IF_ERROR(CheckLoop(program_, l));
      for (const uint32_t marker : {program_.loops(l).begin(), program_.loops(l).end()}) {
        if (loop_at_[marker] >= 0) {
          return Error(Element("loops", l, "begin"), "a marker of its own", marker);
        }
        loop_at_[marker] = l;
      }
    }
    for (int i = 0; i < program_.instructions_size(); ++i) MMZ_RETURN_IF_ERROR(Step(i));
    return absl::OkStatus();  // no loop is open: each LOOP_BEGIN has been matched with its LOOP_END
  }

 private:
  struct Open {
    int loop;
    int64_t executions;
  };

  absl::Status Step(int i) {
    const v1::Instruction& instruction = program_.instructions(i);
    if (!IsMarker(KindFromProto(instruction.kind()))) return CheckInside(i, open_.back());
    if (loop_at_[i] < 0) {
      return Error(Element("instructions", i, "kind"), "a marker named by a loop", "none");
    }
    const v1::Loop& loop = program_.loops(loop_at_[i]);
    if (instruction.kind() == v1::Instruction::LOOP_BEGIN) {
      if (ParentOf(loop) != open_.back().loop) {
        return Error(Element("loops", loop_at_[i], "parent"), LoopName(open_.back().loop),
                     LoopName(ParentOf(loop)));
      }
      const int64_t depth = std::ssize(open_);  // the first element is no loop
      if (depth > kMaxLoopDepth) {
        return Error(Element("loops", loop_at_[i], "begin"),
                     absl::StrCat("at most ", kMaxLoopDepth, " loops inside each other"), depth);
      }
      const int64_t outer = open_.back().executions;
      if (outer != 0 && loop.trip_count() > kMaxExecutions / outer) {
        return Error(Element("loops", loop_at_[i], "trip_count"), "up to 2^53 executions in all",
                     loop.trip_count());
      }
      open_.push_back({loop_at_[i], outer * loop.trip_count()});
    }
    // A marker may name the loop that it marks or the one around it.
    const Open inner = open_.back();
    if (inner.loop != loop_at_[i]) {
      return Error(Element("loops", loop_at_[i], "end"), "loops that nest", loop.end());
    }
    const Open outer = open_[open_.size() - 2];
    if (instruction.kind() == v1::Instruction::LOOP_END) open_.pop_back();
    absl::Status as_outer = CheckInside(i, outer);
    return as_outer.ok() ? as_outer : CheckInside(i, inner);
  }

  absl::Status CheckInside(int i, const Open& open) const {
    const v1::Instruction& instruction = program_.instructions(i);
    const int loop = LoopOf(instruction);
    if (loop != open.loop) {
      return Error(Element("instructions", i, "loop"), LoopName(open.loop), LoopName(loop));
    }
    if (instruction.execution_count() != open.executions) {
      return Error(Element("instructions", i, "execution_count"), absl::StrCat(open.executions),
                   instruction.execution_count());
    }
    return absl::OkStatus();
  }

  // The index of the loop around a loop or an instruction; -1 if there is none.
  static int ParentOf(const v1::Loop& loop) {
    if (!loop.has_parent()) return -1;
    return loop.parent();
  }
  static int LoopOf(const v1::Instruction& instruction) {
    if (!instruction.has_loop()) return -1;
    return instruction.loop();
  }

  static std::string LoopName(int loop) { return loop < 0 ? "none" : absl::StrCat(loop); }

  const v1::Program& program_;
  std::vector<int> loop_at_;  // for each instruction: the loop that it marks, or -1
  std::vector<Open> open_ = {{-1, 1}};
};

absl::Status CheckCarriedGroups(const v1::Program& program) {
  for (int g = 0; g < program.carried_groups_size(); ++g) {
    const v1::CarriedGroup& group = program.carried_groups(g);
    const auto field = [g](absl::string_view m) { return Element("carried_groups", g, m); };
    MMZ_RETURN_IF_ERROR(CheckIndex(group.loop(), program.loops_size(), field("loop")));
    const std::pair<const char*, uint32_t> buffers[] = {
        {"initial_buffer", group.initial_buffer()},
        {"parameter_buffer", group.parameter_buffer()},
        {"root_buffer", group.root_buffer()},
        {"result_buffer", group.result_buffer()},
    };
    for (const auto& [member, buffer] : buffers) {
      MMZ_RETURN_IF_ERROR(CheckIndex(buffer, program.buffers_size(), field(member)));
    }
  }
  return absl::OkStatus();
}

// Checks that the buffers ascend, are in use while the collective is in flight, and that its start
// accesses them. A flight is in one loop, so that each pass has all of it.
absl::Status CheckBuffersInFlight(const v1::Program& program, int c) {
  const v1::Collective& collective = program.collectives(c);
  if (collective.buffers_size() == 0) return absl::OkStatus();
  const auto field = [c](absl::string_view member) { return Element("collectives", c, member); };
  MMZ_RETURN_IF_ERROR(CheckIndex(collective.done(), program.instructions_size(), field("done")));
  MMZ_RETURN_IF_ERROR(
      CheckRange(collective.start(), 0, int64_t{collective.done()} - 1, field("start")));
  const v1::Instruction& start = program.instructions(collective.start());
  const v1::Instruction& done = program.instructions(collective.done());
  const bool is_marker = IsMarker(KindFromProto(done.kind()));
  if (is_marker || start.has_loop() != done.has_loop() || start.loop() != done.loop()) {
    return Error(field("done"), "an instruction in the loop of the start", collective.done());
  }
  int64_t previous = -1;
  for (const uint32_t b : collective.buffers()) {
    MMZ_RETURN_IF_ERROR(
        CheckRange(b, previous + 1, int64_t{program.buffers_size()} - 1, field("buffers")));
    previous = b;
    const v1::Buffer& buffer = program.buffers(b);
    bool accessed = false;
    for (uint32_t k = 0; k < start.access_count(); ++k) {
      accessed = accessed || program.accesses(start.first_access() + k).buffer() == b;
    }
    if (!accessed || collective.done() > buffer.last()) {
      return Error(field("buffers"), "a buffer that the start accesses, alive up to the done", b);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCollectives(const v1::Program& program) {
  int64_t previous = 0;
  for (int c = 0; c < program.collectives_size(); ++c) {
    const v1::Collective& collective = program.collectives(c);
    const auto field = [c](absl::string_view member) { return Element("collectives", c, member); };
    MMZ_RETURN_IF_ERROR(
        CheckRange(collective.done(), 0, program.instructions_size(), field("done")));
    MMZ_RETURN_IF_ERROR(
        CheckRange(collective.start(), previous, collective.done(), field("start")));
    if (!(collective.cycles() >= 0 && collective.cycles() <= kMaxCycles)) {
      return Error(field("cycles"), "0 to 2^53", collective.cycles());
    }
    previous = collective.start();
    MMZ_RETURN_IF_ERROR(CheckBuffersInFlight(program, c));
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const v1::Program& program) {
  if (!program.has_source()) return absl::OkStatus();
  const v1::Source& source = program.source();
  const std::tuple<const char*, int, int> sizes[] = {
      {"source.instructions", source.instructions_size(), program.instructions_size()},
      {"source.tensors", source.tensors_size(), program.tensors_size()},
      {"source.loops", source.loops_size(), program.loops_size()},
  };
  for (const auto& [field, size, expected] : sizes) {
    if (size != expected) return Error(field, absl::StrCat(expected, " elements"), size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckProgram(const v1::Program& program) {
  MMZ_RETURN_IF_ERROR(CheckHeader(program, "header"));
  if (program.fingerprint() != ProgramFingerprint(program)) {
    return absl::InvalidArgumentError(
        "fingerprint: does not match the content; the program is damaged or was edited");
  }
  MMZ_RETURN_IF_ERROR(CheckFinite(program, ""));
  MMZ_RETURN_IF_ERROR(CheckHardware(program.hardware(), "hardware"));
  MMZ_RETURN_IF_ERROR(CheckCounts(program));
  MMZ_RETURN_IF_ERROR(CheckBuffers(program));
  MMZ_RETURN_IF_ERROR(CheckInstructions(program));
  MMZ_RETURN_IF_ERROR(LoopWalk(program).Run());
  MMZ_RETURN_IF_ERROR(CheckCarriedGroups(program));
  MMZ_RETURN_IF_ERROR(CheckCollectives(program));
  MMZ_RETURN_IF_ERROR(CheckSource(program));
  if (program.has_baseline() && program.baseline().has_mapping()) {
    return CheckMappingIndices(program.baseline().mapping(), program, "baseline.mapping.");
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
