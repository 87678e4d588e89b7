// The contents of a node of a search tree.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_

#include <cstdint>
#include <limits>

namespace mallocmuzero {

// The logit of an illegal action: less than any other, and finite.
inline constexpr float kNoLogit = std::numeric_limits<float>::lowest();

// The number of actions of a search: kActions, or a number that is known only when the search is
// made. Rows have room for a multiple of 4.
template <int kActions, int kMaxActions>
class ActionCount {
 public:
  static_assert(kActions <= kMaxActions && kMaxActions % 4 == 0);
  static constexpr int kMax = kMaxActions;

  explicit ActionCount(uint32_t actions) : actions_(actions) {}

  // A constant where possible, so that the compiler unrolls loops over actions.
  int count() const { return kActions > 0 ? kActions : actions_; }

 private:
  int actions_;
};

// Rows have one entry for each action. A node with at most four actions takes two cache lines.
// Visits are floats because the arithmetic needs floats; they are exact up to 2^24.
template <int kMax>
struct alignas(64) TreeNode {
  // NodeQuad reads these four together.
  float value;      // mean of the network's value and of all values backed up
  float raw_value;  // the network's value
  float reward;     // of the step to this node
  float visits;     // 1 plus the visits of all children
  uint32_t parent;
  uint32_t action;       // of the parent, which leads to this node
  uint32_t next_action;  // the action that the next simulation takes at this node
  alignas(16) float child_visits[kMax];
  float q_values[kMax];  // 0 for actions that were not visited
  float logits[kMax];
  float priors[kMax];       // softmax(logits), all above 0
  uint32_t children[kMax];  // node; 0: none yet

  // Takes a child's new Q-value, and the return that it comes from.
  void AddVisit(uint32_t child_action, float q_value, float backed_up) {
    child_visits[child_action] += 1;
    q_values[child_action] = q_value;
    value = (value * visits + backed_up) / (visits + 1);
    visits += 1;
  }
};

// The contents that only a root has.
template <int kMax>
struct RootState {
  alignas(16) float gumbel[kMax];  // scaled
  uint32_t legal;                  // bits
  uint32_t first_legal;
  float temperature;
  const float* considered_visits;  // one for each simulation, see ConsideredVisits
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
