#include "optimize/packed_solve.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "env/game_rules.h"
#include "simulator/core/simulate.h"
#include "simulator/core/variant.h"
#include "simulator/place/packing.h"

namespace mallocmuzero {
namespace {

constexpr int kSearches = 5;

// What is left of the fast memory for a search when the one before did not pack, as a share.
constexpr double kLeastShrink = 0.97;
constexpr double kMostShrink = 0.8;

absl::StatusOr<Solution> SolveWithin(const Program& program, double share,
                                     const SolveOptions& options) {
  const absl::StatusOr<Program> variant = WithFastMemory(program, share);
  if (!variant.ok()) return variant.status();
  const absl::StatusOr<GameRules> rules = GameRules::Create(*variant);
  if (!rules.ok()) return rules.status();
  return Solve("local_search", *rules, options);
}

}  // namespace

absl::StatusOr<PackedSolution> SolveToPack(const Program& program, const SolveOptions& options,
                                           Packing packing) {
  PackedSolution best;
  best.solution.mapping = AllHbmMapping(program);
  best.solution.cycles = Simulate(program, best.solution.mapping).total_cycles;
  best.solution.solver = "all_hbm";
  const int64_t capacity = program.hardware().fast_memory_bytes();
  double share = 1;
  for (int search = 0; search < kSearches; ++search) {
    const absl::Duration left = options.deadline - absl::Now();
    if (search > 0 && (left <= absl::ZeroDuration() || (options.stop && options.stop()))) break;
    SolveOptions part = options;
    if (packing == Packing::kPredicted) part.deadline = absl::Now() + left / 2;
    absl::StatusOr<Solution> solution = SolveWithin(program, share, part);
    if (!solution.ok()) return solution.status();
    const int64_t packed = place::PackedBytes(program, solution->mapping);
    if (packed <= capacity || packing == Packing::kLeftToCompiler) {
      if (solution->cycles < best.solution.cycles) best = {*std::move(solution), packed};
      break;
    }
    const double fits = static_cast<double>(capacity) / static_cast<double>(packed);
    share *= std::clamp(fits, kMostShrink, kLeastShrink);
  }
  return best;
}

}  // namespace mallocmuzero
