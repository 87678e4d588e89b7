// Prints how a search by local search improves with the processor time that it takes:
// search_trace PROGRAM SEED SECONDS. PROGRAM is a program file, or `layers:N` for a synthetic
// program of N layers.
//
// Output: one JSON object a line, {"seconds": S, "games": N, "cycles": C}, whenever a better
// mapping was found, and one at the end, which also has "decisions": those of the game that gives
// the best mapping. The search has one thread and counts its own processor time, so that other work
// on the machine disturbs it little.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kMostLayers = 100'000;

// A training step of `layers` layers of random sizes: each layer reads weights and makes an
// activation, and later, in the opposite order, reads both again. About 9 accesses a layer.
Program TrainingStep(uint32_t layers) {
  Random random(layers);
  v1::Hardware hardware = testing::SmallHardware();
  hardware.set_fast_memory_bytes(1 << 14);
  testing::ProgramBuilder builder(hardware);
  std::vector<BufferIndex> weights;
  std::vector<BufferIndex> activations = {builder.AddBuffer(2000, {.live_in = true})};
  for (uint32_t k = 0; k < layers; ++k) {
    weights.push_back(builder.AddBuffer(1000 + random.Below(4000), {.live_in = true}));
    activations.push_back(builder.AddBuffer(500 + random.Below(3000)));
    builder.AddInstruction(500 + random.Below(500),
                           {testing::Read(activations[k], 40 + random.Below(80)),
                            testing::Read(weights[k], 40 + random.Below(200)),
                            testing::Write(activations[k + 1], 40 + random.Below(80))});
  }
  BufferIndex gradient = activations.back();
  for (uint32_t k = layers; k-- > 0;) {
    const BufferIndex next = builder.AddBuffer(500 + random.Below(3000), {.live_out = k == 0});
    const BufferIndex update = builder.AddBuffer(1000 + random.Below(4000), {.live_out = true});
    builder.AddInstruction(500 + random.Below(500),
                           {testing::Read(gradient, 40 + random.Below(80)),
                            testing::Read(activations[k], 40 + random.Below(80)),
                            testing::Write(update, 20 + random.Below(40))});
    builder.AddInstruction(500 + random.Below(500),
                           {testing::Read(gradient, 40 + random.Below(80)),
                            testing::Read(weights[k], 40 + random.Below(200)),
                            testing::Write(next, 40 + random.Below(80))});
    gradient = next;
  }
  return builder.Build();
}

// The processor time of this process, since an epoch that has no meaning.
absl::Time ProcessorTime() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return absl::TimeFromTimespec(now);
}

absl::StatusOr<Program> ReadOrMake(absl::string_view name) {
  absl::string_view number = name;
  if (!absl::ConsumePrefix(&number, "layers:")) return LoadProgram(std::string(name));
  uint32_t layers = 0;
  if (absl::SimpleAtoi(number, &layers) && layers >= 1 && layers <= kMostLayers) {
    return TrainingStep(layers);
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": 1 to ", kMostLayers, " layers expected"));
}

absl::Status Trace(absl::string_view name, uint64_t seed, double seconds) {
  const absl::StatusOr<Program> program = ReadOrMake(name);
  if (!program.ok()) return program.status();
  const ProgramRules rules = ProgramRules::Create(*program);
  const absl::Time start = ProcessorTime();
  double best = 0;
  SolveOptions options;
  options.seed = seed;
  options.clock = ProcessorTime;
  options.deadline = start + absl::Seconds(seconds);
  const auto print = [&](const SolveProgress& progress) {
    std::printf("{\"seconds\": %.4f, \"games\": %lu, \"cycles\": %.6f",
                absl::ToDoubleSeconds(ProcessorTime() - start), progress.games,
                progress.best_cycles);
    best = progress.best_cycles;
  };
  options.progress = [&](const SolveProgress& progress) {
    if (progress.best_cycles == best) return;
    print(progress);
    std::puts("}");
  };
  const absl::StatusOr<Solution> solution = Solve(solver_name::kLocalSearch, rules, options);
  if (!solution.ok()) return solution.status();
  print({.best_cycles = solution->cycles, .games = solution->games});
  std::printf(", \"decisions\": %zu}\n", solution->actions.size());
  return absl::OkStatus();
}

}  // namespace
}  // namespace mallocmuzero

int main(int argc, char** argv) {
  uint64_t seed = 0;
  double seconds = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &seed) || !absl::SimpleAtod(argv[3], &seconds) ||
      !(seconds >= 0)) {
    std::fputs("usage: search_trace PROGRAM|layers:N SEED SECONDS\n", stderr);
    return 2;
  }
  const absl::Status status = mallocmuzero::Trace(argv[1], seed, seconds);
  if (status.ok()) return 0;
  std::fprintf(stderr, "search_trace: %s\n", status.ToString().c_str());
  return 1;
}
