#include "simulator/core/savings.h"

namespace mallocmuzero {
namespace {

template <typename OthersOf>
IndexVector<AccessIndex, double> SavingsAmong(const Program& program, const OthersOf& others_of) {
  IndexVector<AccessIndex, double> savings;
  savings.reserve(program.access_count());
  for (const InstructionIndex i : program.instructions().indices()) {
    const Instruction& instruction = program.instructions()[i];
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      savings.push_back(SavingAmong(program, i, k, others_of(instruction)));
    }
  }
  return savings;
}

}  // namespace

double SavingAmong(const Program& program, InstructionIndex instruction, uint32_t k,
                   uint64_t others) {
  const uint64_t bit = uint64_t{1} << k;
  return (program.latency().Cycles(instruction, others & ~bit) -
          program.latency().Cycles(instruction, others | bit)) *
         program.instructions()[instruction].execution_count;
}

IndexVector<AccessIndex, double> FindSavings(const Program& program) {
  return SavingsAmong(program, [](const Instruction&) { return uint64_t{0}; });
}

IndexVector<AccessIndex, double> FindLastSavings(const Program& program) {
  return SavingsAmong(program, AllAccesses);
}

double SavingsDensityUnit(const Program& program, IndexSpan<AccessIndex, const double> savings,
                          double cycles) {
  double all_savings = 0;
  for (const double saving : savings) all_savings += std::max(0.0, saving);
  return all_savings /
         (static_cast<double>(program.hardware().fast_memory_bytes()) * std::max(1.0, cycles));
}

IndexVector<InstructionIndex, double> CyclesBefore(const Program& program) {
  IndexVector<InstructionIndex, double> elapsed(1, 0);
  for (const InstructionIndex i : program.instructions().indices()) {
    elapsed.push_back(elapsed.back() +
                      program.latency().Cycles(i, 0) * program.instructions()[i].execution_count);
  }
  return elapsed;
}

}  // namespace mallocmuzero
