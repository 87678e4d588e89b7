#include "simulator/import/latency/calibrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "simulator/core/latency_table.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// The parts of the program from which a latency table is made.
struct Skeleton {
  IndexVector<InstructionIndex, Instruction> instructions;
  IndexVector<AccessIndex, Access> accesses;
};

Skeleton MakeSkeleton(const v1::Program& program) {
  Skeleton skeleton;
  for (const v1::Instruction& instruction : program.instructions()) {
    Instruction added;
    added.execution_count = static_cast<double>(instruction.execution_count());
    added.fixed_hbm_bytes = instruction.fixed_hbm_bytes();
    added.first_access = AccessIndex(instruction.first_access());
    added.access_count = instruction.access_count();
    added.kind = InstructionKind::kEstimated;
    skeleton.instructions.push_back(added);
  }
  for (const v1::Access& access : program.accesses()) {
    Access added;
    added.bytes = access.bytes();
    added.bytes_accessed = access.bytes_accessed();
    added.instruction = InstructionIndex(access.instruction());
    added.buffer = BufferIndex(access.buffer());
    added.kind = AccessKindFromProto(access.kind());
    skeleton.accesses.push_back(added);
  }
  return skeleton;
}

void PredictInto(const Placement& placement, const LatencyTable& table, const Skeleton& skeleton,
                 v1::Calibration::Placement& result) {
  result.set_name(placement.name);
  double compiled = 0;
  double predicted = 0;
  double absolute_error = 0;
  InstructionIndex next = 0;
  for (const auto& placed : placement.instructions) {
    const InstructionIndex i = next++;
    if (!placed || !placed->cycles) continue;
    const double count = skeleton.instructions[i].execution_count;
    const double cycles = table.Cycles(i, placed->fast_accesses);
    compiled += count * *placed->cycles;
    predicted += count * cycles;
    absolute_error += count * std::abs(cycles - *placed->cycles);
  }
  result.set_compiled_cycles(compiled);
  result.set_predicted_cycles(predicted);
  result.set_absolute_error_cycles(absolute_error);
}

void Summarise(v1::Calibration& calibration) {
  std::vector<double> errors;
  double compiled = 0;
  double absolute_error = 0;
  for (const v1::Calibration::Placement& placement : calibration.placements()) {
    compiled += placement.compiled_cycles();
    absolute_error += placement.absolute_error_cycles();
    if (placement.compiled_cycles() <= 0) continue;
    errors.push_back(std::abs(placement.predicted_cycles() - placement.compiled_cycles()) /
                     placement.compiled_cycles());
  }
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const size_t half = errors.size() / 2;
  calibration.set_median_total_error(
      errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2);
  calibration.set_worst_total_error(errors.back());
  calibration.set_instruction_error(absolute_error / compiled);
}

}  // namespace

absl::StatusOr<v1::Calibration> Calibrate(const v1::Program& program, const LatencyClasses& classes,
                                          absl::Span<const Placement> placements,
                                          const std::function<bool()>& stop) {
  v1::Calibration calibration;
  const Skeleton skeleton = MakeSkeleton(program);
  for (size_t p = 1; p < placements.size(); ++p) {
    const absl::StatusOr<v1::LatencyTable> fitted =
        FitLatencyTable(program, classes, placements, p, stop);
    if (!fitted.ok()) return fitted.status();
    absl::StatusOr<LatencyTable> table = LatencyTable::FromProto(
        *fitted, skeleton.instructions, skeleton.accesses, program.hardware());
    if (!table.ok()) return table.status();
    PredictInto(placements[p], *table, skeleton, *calibration.add_placements());
  }
  Summarise(calibration);
  return calibration;
}

}  // namespace mallocmuzero
