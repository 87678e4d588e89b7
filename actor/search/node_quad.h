// Four nodes of search trees side by side, and the numbers of them that the rules of selection
// need.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_NODE_QUAD_H_
#define MALLOCMUZERO_ACTOR_SEARCH_NODE_QUAD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "actor/search/float4.h"
#include "actor/search/search_node.h"

namespace mallocmuzero {

// One number for each action of each of four nodes.
template <int kMax>
struct Columns {
  Float4 at[kMax];
};

// Row `row` of four nodes or roots.
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

// Four nodes, one in each lane. The result of a lane depends neither on its place nor on the other
// lanes. So a node gets the same numbers whichever nodes are computed beside it.
template <int kMax>
struct NodeQuad {
  NodeQuad(const TreeNode<kMax>* const* nodes, int actions)
      : value(FirstFour(*nodes[0])),
        raw_value(FirstFour(*nodes[1])),
        visits(FirstFour(*nodes[3])),
        child_visits(LoadColumns<kMax>(nodes, &TreeNode<kMax>::child_visits, actions)),
        q_values(LoadColumns<kMax>(nodes, &TreeNode<kMax>::q_values, actions)),
        logits(LoadColumns<kMax>(nodes, &TreeNode<kMax>::logits, actions)),
        priors(LoadColumns<kMax>(nodes, &TreeNode<kMax>::priors, actions)) {
    Float4 reward = FirstFour(*nodes[2]);
    Transpose(value, raw_value, reward, visits);
  }

  Float4 value;
  Float4 raw_value;
  Float4 visits;
  Columns<kMax> child_visits;
  Columns<kMax> q_values;
  Columns<kMax> logits;
  Columns<kMax> priors;

 private:
  static Float4 FirstFour(const TreeNode<kMax>& node) {
    Float4 result;
    static_assert(offsetof(TreeNode<kMax>, visits) == 3 * sizeof(float));
    std::memcpy(&result, &node, sizeof(result));
    return result;
  }
};

template <int kMax>
struct RootQuad {
  RootQuad(const RootState<kMax>* const* roots, int actions)
      : gumbel(LoadColumns<kMax>(roots, &RootState<kMax>::gumbel, actions)) {
    for (int k = 0; k < 4; ++k) {
      legal[k] = roots[k]->legal;
      first_legal[k] = roots[k]->first_legal;
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

// The lowest action among those with the highest score; 0 if scores are NaN.
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

// The same among the legal actions that are `considered` (masks); the lowest legal action if scores
// are NaN.
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

#endif  // MALLOCMUZERO_ACTOR_SEARCH_NODE_QUAD_H_
