// Pairs the computations and instructions of the original with those of the placed module, and
// compares the pairs.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MATCH_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MATCH_H_

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "simulator/place_check/graph.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

inline constexpr int kNone = -1;

// For the placed module's controlled computations and their instructions: the counterparts in the
// original.
struct Match {
  std::vector<int> computations;  // kNone if there is none
  // kNone for a move, and for an instruction that is not in the original
  std::vector<std::vector<int>> instructions;
  std::vector<std::vector<int>> placed;  // the reverse, for the original's indices

  // The counterpart of an instruction of the placed module; kNone if there is none.
  int Original(int computation, int instruction) const {
    return instructions[computation][instruction];
  }
};

// Matches the modules and reports all differences that are not allowed, except those of values,
// spaces and schedules.
Match MatchModules(const Graph& original, const Graph& placed, int64_t fast_space, Report& report);

// Reports differences in the modules' own fields.
void CompareModuleFields(const Graph& original, const Graph& placed, Report& report);

// True if two instructions do the same: all fields agree except names, ids, operands, control
// predecessors, called computations, shapes, metadata, backend_config, and the aliases that
// AliasFault() compares. A custom call must keep its backend_config, and a loop must keep it or
// lose it.
bool SameAttributes(const Instruction& original, const Instruction& placed);

// A hash of what SameAttributes compares.
size_t HashOfAttributes(const Instruction& instruction);

// Compares computations that are part of an instruction, such as fused ones and reducers.
class CalleeComparison {
 public:
  CalleeComparison(const Graph& original, const Graph& placed, int64_t fast_space)
      : original_(original), placed_(placed), fast_space_(fast_space) {}

  // Describes the first difference, or returns "" if there is none. If `fused`, then the
  // parameters, the root and values that share a buffer with them may have other spaces.
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
