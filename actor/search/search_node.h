// What a node of a search tree holds.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "actor/search/lanes.h"

namespace mallocmuzero {

// Of a lane past the last action, and of an illegal action: less than any logit, and finite.
inline constexpr float kNoLogit = std::numeric_limits<float>::lowest();

// With four lanes exactly two cache lines. Visits are floats, as the arithmetic needs them; exact
// up to 2^24.
template <int kLanes>
struct alignas(64) TreeNode {
  float value;      // mean of the network's value and all that was backed up
  float raw_value;  // the network's
  float reward;     // of the step to this node
  float visits;     // 1 and those of all children
  uint32_t parent;
  uint32_t action;       // that led here
  uint32_t next_action;  // that the next simulation to come here takes

  // One an action.
  Lanes<kLanes> child_visits;
  Lanes<kLanes> q_values;  // 0 where not visited
  Lanes<kLanes> logits;
  Lanes<kLanes> priors;       // softmax(logits), none of them 0
  uint32_t children[kLanes];  // node; 0: none yet

  // A node that was never passed, with legal actions in `legal`.
  void Expand(float network_value, absl::Span<const float> network_logits, uint32_t legal) {
    value = raw_value = network_value;
    visits = 1;
    child_visits = q_values = Lanes<kLanes>::All(0);
    float row[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      row[lane] = (legal >> lane & 1U) != 0 ? network_logits[lane] : kNoLogit;
      children[lane] = 0;
    }
    logits = Lanes<kLanes>::Load(row);
    priors = Softmax(logits);
  }

  // A child's new mean, with the reward of the step to it, and the return that led to it.
  void AddVisit(uint32_t child_action, float q_value, float backed_up) {
    const LaneMask<kLanes> here =
        Lanes<kLanes>::Iota() == static_cast<float>(static_cast<int32_t>(child_action));
    const Lanes<kLanes> more = child_visits + Lanes<kLanes>::All(1);
    child_visits = Select(here, more, child_visits);
    q_values = Select(here, Lanes<kLanes>::All(q_value), q_values);
    value = (value * visits + backed_up) / (visits + 1);
    visits += 1;
  }
};

// What a game's root has and other nodes have not.
template <int kLanes>
struct RootState {
  Lanes<kLanes> gumbel;  // scaled
  LaneMask<kLanes> legal;
  uint32_t first_legal = 0;
  float temperature = 1;
  const float* considered_visits = nullptr;  // one a simulation, see ConsideredVisits
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
