// What a node of a search tree holds, and four of them side by side.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_

#include <cstdint>
#include <limits>

#include "actor/search/float4.h"

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

// One number an action of each of four nodes.
template <int kMax>
struct Columns {
  Float4 at[kMax];
};

// Row `row` of four nodes, or roots.
template <int kMax, class Node, class Row>
Columns<kMax> LoadColumns(const Node* const* nodes, Row row, int actions) {
  Columns<kMax> columns;
  for (int a = 0; a < actions; a += 4) {
    Float4* const at = columns.at + a;
    for (int k = 0; k < 4; ++k) at[k] = Load(nodes[k]->*row + a);
    Transpose(at[0], at[1], at[2], at[3]);
  }
  return columns;
}

// Four nodes, one a lane. What is done in one lane depends neither on which lane it is nor on the
// others, so a node's numbers are the same whatever is computed beside it.
template <int kMax>
struct NodeQuad {
  NodeQuad(const TreeNode<kMax>* const* nodes, int actions)
      : value(Load(&nodes[0]->value)),
        raw_value(Load(&nodes[1]->value)),
        visits(Load(&nodes[3]->value)),
        child_visits(LoadColumns<kMax>(nodes, &TreeNode<kMax>::child_visits, actions)),
        q_values(LoadColumns<kMax>(nodes, &TreeNode<kMax>::q_values, actions)),
        logits(LoadColumns<kMax>(nodes, &TreeNode<kMax>::logits, actions)),
        priors(LoadColumns<kMax>(nodes, &TreeNode<kMax>::priors, actions)) {
    Float4 reward = Load(&nodes[2]->value);
    Transpose(value, raw_value, reward, visits);
  }

  Float4 value;
  Float4 raw_value;
  Float4 visits;
  Columns<kMax> child_visits;
  Columns<kMax> q_values;
  Columns<kMax> logits;
  Columns<kMax> priors;
};

template <int kMax>
struct RootQuad {
  RootQuad(const RootState<kMax>* const* roots, int actions)
      : gumbel(LoadColumns<kMax>(roots, &RootState<kMax>::gumbel, actions)) {
    for (int k = 0; k < 4; ++k) {
      legal[k] = roots[k]->legal;
      first_legal[k] = static_cast<int32_t>(roots[k]->first_legal);
    }
  }

  Int4 IsLegal(int action) const { return (legal >> action & 1U) != 0U; }

  Columns<kMax> gumbel;
  Bits4 legal;
  Int4 first_legal;
};

template <int kMax>
Float4 MaxOf(const Columns<kMax>& columns, int actions) {
  Float4 max = columns.at[0];
  for (int a = 1; a < actions; ++a) max = Max(max, columns.at[a]);
  return max;
}

template <int kMax>
Columns<kMax> Softmax(Columns<kMax> logits, int actions) {
  const Float4 max = MaxOf(logits, actions);
  Float4 sum = All(0);
  for (int a = 0; a < actions; ++a) sum += logits.at[a] = Exp(logits.at[a] - max);
  for (int a = 0; a < actions; ++a) logits.at[a] /= sum;
  return logits;
}

// The first of the highest; action 0 if scores are not numbers.
template <int kMax>
Int4 Argmax(const Columns<kMax>& scores, int actions) {
  Float4 best = scores.at[0];
  Int4 action = {0, 0, 0, 0};
  for (int a = 1; a < actions; ++a) {
    const Int4 better = scores.at[a] > best;
    best = better ? scores.at[a] : best;
    action = better ? Int4{a, a, a, a} : action;
  }
  return action;
}

// The same among the legal actions that are `considered` (masks); the first legal one if scores are
// not numbers.
template <int kMax, class Considered>
Int4 ArgmaxAtRoot(const RootQuad<kMax>& root, const Columns<kMax>& scores, int actions,
                  Considered considered) {
  Float4 best = All(-std::numeric_limits<float>::infinity());
  Int4 action = root.first_legal;
  for (int a = 0; a < actions; ++a) {
    const Int4 better = (scores.at[a] > best) & root.IsLegal(a) & considered(a);
    best = better ? scores.at[a] : best;
    action = better ? Int4{a, a, a, a} : action;
  }
  return action;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_NODE_H_
