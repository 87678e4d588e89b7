// The rules by which Gumbel MuZero chooses actions in a tree. Names and order of operations follow
// mctx 0.0.71: action_selection.py, qtransforms.py and seq_halving.py.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_

#include <algorithm>
#include <cstdint>

#include "actor/search/float4.h"
#include "actor/search/node_quad.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"
#include "actor/search/sequential_halving.h"

namespace mallocmuzero {

// Works on four nodes at a time. Actions is an ActionCount.
template <class Actions>
class GumbelRule {
 public:
  static constexpr int kMax = Actions::kMax;
  using Quad = NodeQuad<kMax>;
  using Root = RootState<kMax>;

  GumbelRule(const SearchConfig& config, Actions actions)
      : actions_(actions),
        least_range_(std::max(config.value_floor, kEpsilon)),
        maxvisit_init_(config.maxvisit_init),
        value_scale_(config.value_scale),
        considered_(std::min<uint32_t>(config.max_considered_actions, actions.count()),
                    config.simulations) {}

  void StartRoot(uint32_t legal_actions, Root& root) const {
    root.considered_visits = considered_.Row(legal_actions);
  }

  // gumbel_muzero_root_action_selection: the best action among those that the halving visits now.
  Int4 SelectAtRoot(const Root* const* roots, const Quad& nodes) const {
    Float4 visits;
    for (int k = 0; k < 4; ++k) {
      const auto simulation = static_cast<int32_t>(nodes.visits[k]) - 1;
      visits[k] = roots[k]->considered_visits[simulation];
    }
    return Best({roots, actions_.count()}, nodes, visits);
  }

  // gumbel_muzero_interior_action_selection: visits follow softmax(logits + completed Q-values).
  Int4 Select(const Quad& nodes) const {
    Columns<kMax> scores = Improved(nodes);
    for (int a = 0; a < actions_.count(); ++a) {
      scores.at[a] -= nodes.child_visits.at[a] / nodes.visits;
    }
    return Argmax(scores, actions_.count());
  }

  // The best of the most visited actions.
  Int4 Choose(const Root* const* roots, const Quad& nodes) const {
    return Best({roots, actions_.count()}, nodes, MaxOf(nodes.child_visits, actions_.count()));
  }

  Columns<kMax> Policy(const Root* const* roots, const Quad& nodes) const {
    const RootQuad<kMax> root(roots, actions_.count());
    Columns<kMax> policy = Improved(nodes);
    for (int a = 0; a < actions_.count(); ++a) {
      policy.at[a] = OrZero(root.IsLegal(a), policy.at[a]);
    }
    return policy;
  }

  // The Q-values; an action without a visit has the mixed value (appendix D of the paper).
  Columns<kMax> Completed(const Quad& nodes) const {
    Columns<kMax> q_values;
    Float4 prior_sum = All(0);
    Float4 weighted = All(0);
    for (int a = 0; a < actions_.count(); ++a) {
      prior_sum += OrZero(nodes.child_visits.at[a] > 0, nodes.priors.at[a]);
    }
    for (int a = 0; a < actions_.count(); ++a) {
      weighted += OrZero(nodes.child_visits.at[a] > 0,
                         nodes.priors.at[a] * nodes.q_values.at[a] / prior_sum);
    }
    const Float4 mixed = (nodes.raw_value + (nodes.visits - 1) * weighted) / nodes.visits;
    for (int a = 0; a < actions_.count(); ++a) {
      q_values.at[a] = nodes.child_visits.at[a] > 0 ? nodes.q_values.at[a] : mixed;
    }
    return q_values;
  }

 private:
  static constexpr float kEpsilon = 1e-8F;
  // The least score. It is finite, so that the only action of a turn is still visited.
  static constexpr float kLowScore = -1e9F;

  // qtransform_completed_by_mix_value.
  Columns<kMax> Rescaled(const Quad& nodes) const {
    Columns<kMax> q_values = Completed(nodes);
    Float4 low = q_values.at[0];
    for (int a = 1; a < actions_.count(); ++a) low = Min(low, q_values.at[a]);
    const Float4 high = MaxOf(q_values, actions_.count());
    const Float4 range = Max(high - low, All(least_range_));
    const Float4 most_visits = MaxOf(nodes.child_visits, actions_.count());
    const Float4 scale = (maxvisit_init_ + most_visits) * value_scale_;
    for (int a = 0; a < actions_.count(); ++a) {
      q_values.at[a] = scale * ((q_values.at[a] - low) / range);
    }
    return q_values;
  }

  Columns<kMax> Improved(const Quad& nodes) const {
    Columns<kMax> logits = Rescaled(nodes);
    for (int a = 0; a < actions_.count(); ++a) logits.at[a] += nodes.logits.at[a];
    return Softmax(logits, actions_.count());
  }

  // score_considered, then the argmax over the legal actions with that number of visits.
  Int4 Best(const RootQuad<kMax>& root, const Quad& nodes, Float4 visits) const {
    const Float4 max_logit = MaxOf(nodes.logits, actions_.count());
    Columns<kMax> scores = Rescaled(nodes);
    for (int a = 0; a < actions_.count(); ++a) {
      const Float4 noisy = root.gumbel.at[a] + (nodes.logits.at[a] - max_logit);
      scores.at[a] = Max(noisy + scores.at[a], All(kLowScore));
    }
    return ArgmaxAtRoot(root, scores, actions_.count(),
                        [&](int a) { return nodes.child_visits.at[a] == visits; });
  }

  Actions actions_;
  float least_range_;
  float maxvisit_init_;
  float value_scale_;
  ConsideredVisits considered_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_
