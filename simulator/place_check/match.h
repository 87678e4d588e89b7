// Pairs what the original and the placed module have in common, and compares the pairs.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MATCH_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MATCH_H_

#include <map>
#include <utility>
#include <vector>

#include "simulator/place_check/graph.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

inline constexpr int kNone = -1;

// The counterparts in the original of the placed module's controlled computations and of their
// instructions.
struct Match {
  std::vector<int> computations;               // kNone: none
  std::vector<std::vector<int>> instructions;  // kNone: a move, or not in the original
  std::vector<std::vector<int>> placed;        // the reverse, by the original's indices

  int Original(int computation, int instruction) const {
    return instructions[computation][instruction];
  }
};

// Reports whatever is not as it was, except values, spaces and schedules.
Match MatchModules(const Graph& original, const Graph& placed, int64_t fast_space, Report& report);

// Reports a difference of the modules' own fields.
void CompareModuleFields(const Graph& original, const Graph& placed, Report& report);

// Whether two instructions do the same: all fields agree but names, ids, operands, control
// predecessors, called computations, shapes, metadata, backend_config, and the aliases that
// AliasFault() compares. A custom call must keep its backend_config, and a loop must keep or lose
// it.
bool SameAttributes(const Instruction& original, const Instruction& placed);

// Compares computations that are part of an instruction: fused ones, reducers, ...
class CalleeComparison {
 public:
  CalleeComparison(const Graph& original, const Graph& placed, int64_t fast_space)
      : original_(original), placed_(placed), fast_space_(fast_space) {}

  // Describes the first difference; empty if there is none. If `fused`, the parameters, the root
  // and values in one buffer with them may have other spaces.
  std::string Difference(int original, int placed, bool fused);

 private:
  std::string Compare(int original, int placed, bool fused);
  std::string CompareInstruction(int original, int placed, int index, bool fused);

  const Graph& original_;
  const Graph& placed_;
  const int64_t fast_space_;
  std::map<std::pair<std::pair<int, int>, bool>, std::string> known_;
};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MATCH_H_
