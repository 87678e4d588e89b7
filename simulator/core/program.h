// A compiled program: a checked Program message, and its numbers in flat arrays for the simulator
// and the game.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/size32.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/index_fields.h"
#include "simulator/core/indices.h"
#include "simulator/core/latency_table.h"
#include "simulator/core/links.h"
#include "simulator/core/mapping_types.h"
#include "simulator/core/program_types.h"

namespace mallocmuzero {

// Immutable after FromProto; safe to read from many threads. Move-only, so that games share one
// Program instead of copying it.
class Program {
 public:
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  // Checks everything that the rest of the software relies on: header, fingerprint, index ranges,
  // signs, finite numbers, accesses partitioned over instructions, live ranges that cover their
  // accesses, loops that nest and whose markers are where they say, execution counts that are the
  // products of trip counts, the latency table, the baseline's mapping. InvalidArgument, with the
  // field in the message, if a check fails.
  static absl::StatusOr<Program> FromProto(v1::Program proto);

  // The message as read, with names.
  const v1::Program& proto() const { return *proto_; }
  const v1::Hardware& hardware() const { return proto_->hardware(); }

  IndexSpan<InstructionIndex, const Instruction> instructions() const { return instructions_; }
  IndexSpan<AccessIndex, const Access> accesses() const { return accesses_; }
  IndexSpan<BufferIndex, const Buffer> buffers() const { return buffers_; }
  IndexSpan<CarriedGroupIndex, const CarriedGroup> carried_groups() const {
    return carried_groups_;
  }
  IndexSpan<LoopIndex, const Loop> loops() const { return loops_; }
  const LatencyTable& latency() const { return latency_; }

  // Starts of asynchronous collectives, and waits for them. Empty for a program of one device.
  absl::Span<const LinkEvent> link_events() const { return link_events_; }

  // When collectives work on buffers that may be in fast memory, by buffer and time. Flights of one
  // buffer do not overlap: those of collectives that overlap are one flight.
  absl::Span<const Flight> flights() const { return flights_; }

  // The flights of one buffer, by time.
  absl::Span<const Flight> FlightsOf(BufferIndex buffer) const;

  // The compiler's own placement; null if the program has none.
  const Baseline* baseline() const { return baseline_ ? &*baseline_ : nullptr; }

  // The message of one element, with its name.
  const v1::Instruction& MessageOf(InstructionIndex instruction) const {
    return ElementOf(proto_->instructions(), instruction);
  }
  const v1::Access& MessageOf(AccessIndex access) const {
    return ElementOf(proto_->accesses(), access);
  }
  const v1::Buffer& MessageOf(BufferIndex buffer) const {
    return ElementOf(proto_->buffers(), buffer);
  }
  const v1::Loop& MessageOf(LoopIndex loop) const { return ElementOf(proto_->loops(), loop); }

  uint32_t instruction_count() const { return Size32(instructions_); }
  uint32_t access_count() const { return Size32(accesses_); }
  uint32_t buffer_count() const { return Size32(buffers_); }

  // The accesses of one instruction, in order: element k has bit k in a latency table's mask.
  absl::Span<const Access> AccessesOfInstruction(InstructionIndex instruction) const {
    const Instruction& i = instructions_[instruction];
    return accesses_.Part(i.first_access, i.access_count);
  }

  // Bytes that an access moves in one run of the program.
  double BytesMoved(const Access& access) const {
    return static_cast<double>(access.bytes_accessed) *
           instructions_[access.instruction].execution_count;
  }

  // Indices into accesses() of the accesses to one buffer, ascending.
  absl::Span<const AccessIndex> AccessesOfBuffer(BufferIndex buffer) const {
    const uint32_t first = buffer_access_starts_[buffer];
    return absl::MakeConstSpan(buffer_accesses_)
        .subspan(first, buffer_access_starts_[buffer + 1] - first);
  }

 private:
  Program() = default;

  void IndexAccessesByBuffer();

  std::unique_ptr<const v1::Program> proto_;
  IndexVector<InstructionIndex, Instruction> instructions_;
  IndexVector<AccessIndex, Access> accesses_;
  IndexVector<BufferIndex, Buffer> buffers_;
  IndexVector<CarriedGroupIndex, CarriedGroup> carried_groups_;
  IndexVector<LoopIndex, Loop> loops_;
  // buffer_count() + 1 positions in buffer_accesses_
  IndexVector<BufferIndex, uint32_t> buffer_access_starts_;
  std::vector<AccessIndex> buffer_accesses_;
  LatencyTable latency_;
  std::vector<LinkEvent> link_events_;
  std::vector<Flight> flights_;
  std::optional<Baseline> baseline_;
};

// The kind of a message's instruction; kEstimated for a number that is no kind.
InstructionKind KindFromProto(v1::Instruction::Kind kind);

// The kind of a message's access; kRead for a number that is no kind.
AccessKind AccessKindFromProto(v1::Access::Kind kind);

// Reads a program file and checks it as Program::FromProto does. Error messages start with the
// path.
absl::StatusOr<Program> LoadProgram(const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_H_
