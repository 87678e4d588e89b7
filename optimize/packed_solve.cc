#include "optimize/packed_solve.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "env/game_rules.h"
#include "simulator/core/simulate.h"
#include "simulator/core/variant.h"
#include "simulator/place/packing.h"

namespace mallocmuzero {
namespace {

constexpr int kSearches = 5;

// A search after a mapping that does not pack gets this share of the bytes that the mapping had
// live at once. With more memory the search could find the same mapping again.
constexpr double kShrink = 0.98;

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
  PackedSolution smallest;  // of those that do not pack
  const auto capacity = static_cast<double>(program.hardware().fast_memory_bytes());
  double share = 1;
  for (int search = 0; search < kSearches; ++search) {
    const absl::Duration left = options.deadline - absl::Now();
    if (search > 0 && (left <= absl::ZeroDuration() || (options.stop && options.stop()))) break;
    SolveOptions part = options;
    if (packing == Packing::kPredicted) part.deadline = absl::Now() + left / (kSearches - search);
    absl::StatusOr<Solution> solution = SolveWithin(program, share, part);
    if (!solution.ok()) return solution.status();
    const std::vector<place::PackedArray> arrays = place::PackedArrays(program, solution->mapping);
    const int64_t packed = place::PackedBytes(program, solution->mapping);
    const int64_t live = place::LiveBytes(arrays);
    if (solution->cycles >= best.solution.cycles) break;  // everything in HBM is as good
    if (packed <= capacity || packing == Packing::kLeftToCompiler) {
      return PackedSolution{*std::move(solution), packed};
    }
    if (search == 0 || packed < smallest.packed_bytes) smallest = {*std::move(solution), packed};
    share = std::min(share, static_cast<double>(live) / capacity) * kShrink;
  }
  return smallest.packed_bytes > 0 ? smallest : best;
}

}  // namespace mallocmuzero
