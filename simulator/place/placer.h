// Walks a module in the order in which it runs, and writes it again with a mapping's memories and
// copies.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PLACER_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PLACER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/import/structure/program_source.h"
#include "simulator/place/copy_points.h"
#include "simulator/place/frame.h"
#include "simulator/place/module_editor.h"
#include "simulator/place/place.h"

namespace mallocmuzero::place {

// Makes one placed module.
class Placer {
 public:
  // `program`, `mapping` and `source` must outlive the placer.
  Placer(const Program& program, const Mapping& mapping, const ProgramSource& source,
         xla::HloModuleProto module);

  // Returns the placed module. FailedPrecondition as PlaceModule.
  absl::StatusOr<PlacedModule> Run() &&;

 private:
  // How a loop or a branch gets its tuple: the memory of each leaf, and the values that are passed
  // a second time. The second copies are in fast memory; their elements come behind those of the
  // original tuple.
  struct Handover {
    std::vector<Memory> memory;      // for each leaf
    std::vector<ValueId> also_fast;  // values of the extra elements
  };

  // A computation that a loop or a branch calls. The members must outlive the call of EmitCallee.
  struct Callee {
    int32_t instance = 0;
    const xla::ShapeProto& shape;                    // of its parameter
    absl::Span<const ValueId> values;                // the leaves of its parameter
    const Handover& handover;                        // by which it gets them
    InstructionIndex last_point = 0;                 // the last one whose copies are in it
    absl::FunctionRef<Memory(int32_t)> root_memory;  // of each leaf of its root
    // Whether its root has the extra elements of the handover, too, as that of a loop's body.
    bool returns_extra = false;
  };

  struct PricedRange {
    InstructionIndex begin = 0;
    InstructionIndex end = 0;  // one behind the last
  };

  const Schedule& schedule() const { return source_.all_hbm->schedule; }
  const Dataflow& flow() const { return source_.all_hbm->flow; }

  // placer.cc: computations and single instructions.
  absl::Status CheckInstances() const;
  absl::Status EmitParameters(Frame& frame);
  absl::Status EmitConstants(Frame& frame);
  absl::Status EmitInstructions(Frame& frame);
  absl::Status Emit(Frame& frame, hlo::InstructionIndex index);
  // Appends an instruction with its operands and results in the memories of priced step step_.
  absl::Status EmitComputing(Frame& frame, hlo::InstructionIndex index);
  absl::StatusOr<std::vector<int64_t>> Operands(Frame& frame, hlo::InstructionIndex index);
  absl::StatusOr<int64_t> Operand(Frame& frame, hlo::InstructionIndex user, int32_t operand);
  // The memory of one operand's array, or of a result's if `operand` is -1, at the current
  // instruction.
  Memory MemoryOf(int32_t operand, absl::Span<const int32_t> tuple_index) const;
  void NameResults(Frame& frame, hlo::InstructionIndex index, int64_t id,
                   absl::FunctionRef<Memory(int32_t)> memory_of);
  absl::StatusOr<int64_t> Root(Frame& frame, absl::FunctionRef<Memory(int32_t)> memory_of);
  void SetCurrent(ValueId value);

  // Appends the copies of all points that have not been reached yet, up to and including `point`.
  absl::Status RunPoints(Frame& frame, InstructionIndex point);
  absl::Status RunEvent(Frame& frame, const CopyEvent& event);
  absl::Status StartCopy(Frame& frame, uint32_t interval, Memory from);
  absl::Status FinishCopy(Frame& frame, uint32_t interval, Memory from);
  // If the buffer holds a constant of an inner computation, makes it available in `frame`, for a
  // copy that serves all passes of a loop.
  void HoistConstant(Frame& frame, BufferIndex buffer);
  absl::Status StartPrefetch(Frame& frame);
  absl::Status FinishPrefetch(Frame& frame);
  // The loop or the branches have the instructions after `begin`, up to and including `end`.
  absl::Status FinishPrefetchBefore(Frame& frame, InstructionIndex begin, InstructionIndex end);

  // placer_calls.cc: loops and conditionals.
  absl::Status EmitWhile(Frame& frame, hlo::InstructionIndex index);
  // Writes the body and the condition of a loop that carries an array or tuple of `shape`.
  absl::Status EmitPasses(const ScheduledLoop& loop, const Handover& handover,
                          const xla::ShapeProto& shape);
  absl::Status EmitConditional(Frame& frame, hlo::InstructionIndex index);
  Handover HandoverOfLoop(const Frame& frame, const ScheduledLoop& loop, int32_t loop_index) const;
  Handover HandoverOfBranch(const Frame& frame, hlo::InstructionIndex operand,
                            const PricedRange& branches) const;
  std::vector<Memory> MemoryOfResults(absl::Span<const ValueId> results,
                                      const PricedRange& branches) const;
  Memory MemoryInto(const Frame& frame, ValueId value, InstructionIndex begin, InstructionIndex end,
                    bool& also_fast) const;
  // The operand, with its arrays in the memories of the handover and with the extra elements.
  absl::StatusOr<int64_t> HandIn(Frame& frame, hlo::InstructionIndex operand,
                                 const Handover& handover, absl::string_view taker);
  // Writes the computation. Returns the shape of its root.
  absl::StatusOr<xla::ShapeProto> EmitCallee(const Callee& callee);

  PricedRange RangeOfBranches(const ScheduledCall& call) const;

  absl::Status CannotExpress(BufferIndex buffer, absl::string_view why) const;
  absl::Status NotThere(absl::string_view instruction, ValueId value, Memory memory) const;

  const Program& program_;
  const Mapping& mapping_;
  const ProgramSource& source_;
  ModuleEditor editor_;
  CopyPoints points_;
  PlacedModule result_;

  // The priced step of each instruction that is no loop marker. The key is instance and index.
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, InstructionIndex> step_of_;
  InstructionIndex step_ = -1;       // the priced step that is being written; -1: none
  InstructionIndex next_point_ = 0;  // the first point whose copies have not been appended yet
  IndexVector<BufferIndex, ValueId> current_;  // the value that it holds at this point
  struct Flight {
    int32_t instance = 0;
    int64_t start = 0;  // id of the copy-start
    ValueId value = 0;
  };
  absl::flat_hash_map<uint32_t, Flight> in_flight_;  // for each interval
  std::vector<ValueId> hoisted_constants_;
  // The shape of the parameter of a called computation, set while its parameters are appended.
  const xla::ShapeProto* parameter_shape_ = nullptr;
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PLACER_H_
