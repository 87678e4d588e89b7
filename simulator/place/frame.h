// The state of one computation that is being written: in which memory, and under which name, each
// value is available.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_FRAME_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_FRAME_H_

#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "base/enums.h"
#include "simulator/hlo/module.h"
#include "simulator/import/structure/program_source.h"
#include "simulator/place/computation_writer.h"

namespace mallocmuzero::place {

// kHbm also stands for the memories that a mapping does not choose (sync flags, scalars).
enum class Memory : uint8_t { kHbm = 0, kFast = 1 };

// An array in the computation that is being written: an instruction's result or an element of it.
struct ArrayName {
  int64_t instruction = 0;
  hlo::ShapeIndex index;

  friend bool operator==(const ArrayName&, const ArrayName&) = default;
};

// Finds arrays by value and memory in the computation that is being written.
class Frame {
 public:
  // `source` and `writer` must outlive the frame.
  Frame(const ProgramSource& source, int32_t instance, ComputationWriter& writer)
      : source_(source), instance_(instance), writer_(writer) {}

  int32_t instance() const { return instance_; }
  ComputationWriter& writer() { return writer_; }
  const hlo::Computation& computation() const {
    return source_.all_hbm->schedule.ComputationOf(instance_);
  }
  absl::Span<const ValueId> ValuesOf(hlo::InstructionIndex instruction) const {
    return source_.all_hbm->flow.ValuesOf(instance_, instruction);
  }
  const xla::HloInstructionProto* Original(hlo::InstructionIndex instruction) const {
    return writer_.Original(computation().instructions[instruction].name);
  }

  // Records that a value is available as `name` in a memory. Its name in the other memory is kept.
  void SetName(ValueId value, Memory memory, ArrayName name);
  // Records that a value is available in this memory only.
  void SetOnlyName(ValueId value, Memory memory, ArrayName name);
  absl::optional<ArrayName> NameOf(ValueId value, Memory memory) const;

  // The id of the array that is leaf `leaf` of an original instruction's result, in that memory.
  // Appends the forwarding instructions that are needed for it. nullopt if the value is not in that
  // memory.
  absl::optional<int64_t> View(hlo::InstructionIndex instruction, int32_t leaf, Memory memory);

  // The id of the whole result of an original instruction, with each leaf in the memory that
  // `memory_of` returns. If a leaf is not there, returns nullopt and sets `missing` to the leaf.
  absl::optional<int64_t> Whole(hlo::InstructionIndex instruction,
                                absl::FunctionRef<Memory(int32_t)> memory_of, int32_t& missing);

 private:
  bool TakesArrayOfMaker(hlo::InstructionIndex element) const;
  absl::optional<int64_t> ViewOfMaker(hlo::InstructionIndex instruction, int32_t leaf,
                                      Memory memory);
  void PreferOwnElement(hlo::InstructionIndex element, ArrayName& name) const;
  int64_t Materialize(const ArrayName& name, const xla::HloInstructionProto* named);
  bool IsWhole(hlo::InstructionIndex instruction, absl::FunctionRef<Memory(int32_t)> memory_of,
               int64_t& id) const;

  const ProgramSource& source_;
  int32_t instance_;
  ComputationWriter& writer_;
  absl::flat_hash_map<ValueId, EnumArray<Memory, absl::optional<ArrayName>, 2>> names_;
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_FRAME_H_
