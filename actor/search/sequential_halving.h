// Which of the considered actions a simulation may start with, by visit count.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEQUENTIAL_HALVING_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEQUENTIAL_HALVING_H_

#include <cstdint>
#include <vector>

namespace mallocmuzero {

// Sequential Halving (Karnin et al., 2013) as Gumbel MuZero uses it. Simulation i at the root
// visits the best of the actions whose number of visits is entry i of the row for the number of
// actions considered. The counts are those of mctx, seq_halving.get_table_of_considered_visits.
class ConsideredVisits {
 public:
  // Rows for 1 to max_considered actions (at least 1), each of `simulations` counts.
  ConsideredVisits(uint32_t max_considered, uint32_t simulations);

  // The counts for a root with that number of actions to choose from. Numbers above the maximum
  // count as the maximum.
  const float* Row(uint32_t actions) const;

 private:
  uint32_t max_considered_;
  uint32_t simulations_;
  std::vector<float> counts_;  // [max_considered, simulations]; floats as in the nodes
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEQUENTIAL_HALVING_H_
