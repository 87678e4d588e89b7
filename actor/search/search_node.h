// What a node of a search tree holds.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_

#include <cstdint>
#include <limits>

namespace mallocmuzero {

// The logit of an illegal action: less than any other, and finite.
inline constexpr float kNoLogit = std::numeric_limits<float>::lowest();

// Actions of a search are 0 to kActions - 1, or as many as it says when it is made: a multiple of 4
// at most.
template <int kActions, int kMaxActions>
class ActionCount {
 public:
  static_assert(kActions <= kMaxActions && kMaxActions % 4 == 0);
  static constexpr int kMax = kMaxActions;

  explicit ActionCount(uint32_t actions) : actions_(static_cast<int>(actions)) {}

  // Known to the compiler where it can be, so that loops over actions are unrolled.
  int count() const { return kActions > 0 ? kActions : actions_; }

 private:
  int actions_;
};

// Rows have one entry an action. With four actions at most a node is two cache lines. Visits are
// floats, as the arithmetic needs them; exact up to 2^24.
template <int kMax>
struct alignas(64) TreeNode {
  // These four are read together, see NodeQuad.
  float value;      // mean of the network's value and all that was backed up
  float raw_value;  // the network's
  float reward;     // of the step to this node
  float visits;     // 1 and those of all children
  uint32_t parent;
  uint32_t action;       // that led here
  uint32_t next_action;  // that the next simulation to come here takes
  alignas(16) float child_visits[kMax];
  float q_values[kMax];  // 0 where not visited
  float logits[kMax];
  float priors[kMax];       // softmax(logits), none of them 0
  uint32_t children[kMax];  // node; 0: none yet

  // Takes a child's new Q-value, and the return that gave it.
  void AddVisit(uint32_t child_action, float q_value, float backed_up) {
    child_visits[child_action] += 1;
    q_values[child_action] = q_value;
    value = (value * visits + backed_up) / (visits + 1);
    visits += 1;
  }
};

// What only a root has.
template <int kMax>
struct RootState {
  alignas(16) float gumbel[kMax];  // scaled
  uint32_t legal;                  // bits
  uint32_t first_legal;
  float temperature;
  const float* considered_visits;  // one a simulation, see ConsideredVisits
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
