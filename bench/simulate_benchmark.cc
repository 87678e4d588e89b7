// Measures the price of a program of 365 instructions under a mapping with 180 copies. A game over
// the whole schedule takes at least this time, and local search takes it for each candidate.

#include <random>

#include "benchmark/benchmark.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

constexpr int kInstructions = 365;
constexpr int kCopies = 180;

// A layered network: instruction i reads its own weights and the result of i - 1.
Program LayeredProgram() {
  std::mt19937 random(1);
  v1::Hardware hardware = testing::SmallHardware();
  hardware.set_fast_memory_bytes(1 << 27);
  testing::ProgramBuilder builder(hardware);
  BufferIndex previous = builder.AddBuffer(1000, {.live_in = true});
  for (int i = 0; i < kInstructions; ++i) {
    const BufferIndex weights = builder.AddBuffer(1000 + random() % 10000, {.live_in = true});
    const BufferIndex result = builder.AddBuffer(1000, {.live_out = i + 1 == kInstructions});
    builder.AddInstruction(
        500 + random() % 2000,
        {testing::Read(previous, 50), testing::Read(weights, 300), testing::Write(result, 50)});
    previous = result;
  }
  return builder.Build();
}

// Prefetches the weights of every second instruction, two instructions ahead.
Mapping PrefetchingMapping(const Program& program) {
  Mapping mapping = AllHbmMapping(program);
  for (InstructionIndex i = 2; mapping.intervals.size() < kCopies; i += 2) {
    const AccessIndex access = program.instructions()[i].first_access + 1;
    mapping.in_fast_memory[access] = 1;
    Interval interval;
    interval.buffer = program.accesses()[access].buffer;
    interval.first = i - 2;
    interval.last = i;
    interval.copy_in_start = i - 2;
    interval.copy_in_done = i;
    mapping.intervals.push_back(interval);
  }
  return mapping;
}

void SimulateBenchmark(benchmark::State& state) {
  const Program program = LayeredProgram();
  const Mapping mapping = PrefetchingMapping(program);
  for (auto _ : state) benchmark::DoNotOptimize(Simulate(program, mapping).total_cycles);
}
BENCHMARK(SimulateBenchmark)->Unit(benchmark::kMicrosecond);

void SimulateAllHbmBenchmark(benchmark::State& state) {
  const Program program = LayeredProgram();
  for (auto _ : state) benchmark::DoNotOptimize(SimulateAllHbm(program).total_cycles);
}
BENCHMARK(SimulateAllHbmBenchmark)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mallocmuzero
