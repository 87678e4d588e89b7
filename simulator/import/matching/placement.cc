#include "simulator/import/matching/placement.h"

#include "simulator/hlo/shape.h"

namespace mallocmuzero {

bool IsInFastMemory(const AnalyzedModule& analyzed, const PricedStep& priced,
                    const v1::Position& position, int32_t fast_memory_space) {
  const hlo::Shape* shape = &priced.instruction->shape;
  if (position.operand() >= 0) {
    if (position.operand() >= priced.instruction->operands.size()) return false;
    const Step& step = analyzed.StepOf(priced);
    const hlo::Computation& computation = analyzed.schedule.ComputationOf(step.instance);
    shape = &computation.instructions[priced.instruction->operands[position.operand()]].shape;
  }
  const hlo::ShapeIndex index(position.tuple_index().begin(), position.tuple_index().end());
  const hlo::Shape* array = hlo::SubShape(*shape, index);
  return array != nullptr && !array->IsTuple() && array->layout.memory_space == fast_memory_space;
}

Placement ReadPlacement(const v1::Program& program, const AnalyzedModule& other,
                        const Match& match) {
  Placement placement;
  placement.name = BaseName(other.path);
  placement.instructions.resize(program.instructions_size());
  const int32_t fast = program.hardware().fast_memory_space();
  for (int i = 0; i < program.instructions_size(); ++i) {
    if (match.other_of_base[i] < 0) continue;
    const PricedStep& priced = other.priced[match.other_of_base[i]];
    const v1::Instruction& instruction = program.instructions(i);
    InstructionPlacement placed;
    for (uint32_t k = 0; k < instruction.access_count(); ++k) {
      const v1::Access& access = program.accesses(instruction.first_access() + k);
      for (const v1::Position& position : access.positions()) {
        if (IsInFastMemory(other, priced, position, fast)) {
          placed.fast_accesses |= uint64_t{1} << k;
        }
      }
    }
    if (priced.instruction->estimated_cycles) {
      placed.cycles = static_cast<double>(*priced.instruction->estimated_cycles);
    }
    placement.instructions[i] = placed;
  }
  return placement;
}

double UnmatchedCycles(const v1::Program& program, const Placement& placement, const Match& match) {
  double cycles = 0;
  for (int i = 0; i < program.instructions_size(); ++i) {
    const absl::optional<InstructionPlacement>& placed = placement.instructions[i];
    if (match.other_of_base[i] >= 0 || !placed || !placed->cycles) continue;
    cycles += *placed->cycles * static_cast<double>(program.instructions(i).execution_count());
  }
  return cycles;
}

}  // namespace mallocmuzero
