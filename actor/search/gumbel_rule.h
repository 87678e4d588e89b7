// How Gumbel MuZero goes down a tree. Names and order of operations follow mctx 0.0.71:
// action_selection.py, qtransforms.py and seq_halving.py.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "actor/search/lanes.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"
#include "actor/search/sequential_halving.h"

namespace mallocmuzero {

template <int kLanes>
class GumbelRule {
 public:
  using Floats = Lanes<kLanes>;
  using Node = TreeNode<kLanes>;
  using Root = RootState<kLanes>;

  GumbelRule(const SearchConfig& config, uint32_t actions)
      : config_(config),
        least_range_(std::max(config.value_floor, kEpsilon)),
        actions_(LaneMask<kLanes>::Of(LowBits(actions))),
        considered_(std::min(config.max_considered_actions, actions), config.simulations) {}

  void StartRoot(uint32_t legal_actions, Root& root) const {
    root.considered_visits = considered_.Row(legal_actions);
  }

  // gumbel_muzero_root_action_selection: the best of those whose turn it is in the halving.
  uint32_t SelectAtRoot(const Root& root, const Node& node) const {
    const auto simulation = static_cast<uint32_t>(node.visits) - 1;
    return Best(root, node, root.considered_visits[simulation]);
  }

  // gumbel_muzero_interior_action_selection: visits follow softmax(logits + completed Q-values).
  uint32_t Select(const Node& node) const {
    const Floats improved = Softmax(node.logits + Rescaled(node, Completed(node)));
    return Argmax(improved - node.child_visits / node.visits, actions_, 0);
  }

  uint32_t Choose(const Root& root, const Node& node) const {
    return Best(root, node, MaxOf(node.child_visits));
  }

  Floats Policy(const Root& root, const Node& node) const {
    const Floats policy = Softmax(node.logits + Rescaled(node, Completed(node)));
    return Select0(root.legal, policy);
  }

  // The Q-values, and the mixed value (appendix D of the paper) where there was no visit.
  Floats Completed(const Node& node) const {
    const LaneMask<kLanes> visited = node.child_visits > 0;
    const float prior_sum = Sum(Select0(visited, node.priors));
    const Floats weighted = Select0(visited, node.priors * node.q_values / prior_sum);
    const float mixed = (node.raw_value + (node.visits - 1) * Sum(weighted)) / node.visits;
    return mallocmuzero::Select(visited, node.q_values, Floats::All(mixed));
  }

 private:
  static constexpr float kEpsilon = 1e-8F;
  static constexpr float kLowScore = -1e9F;  // an action alone in its turn is still visited

  static Floats Select0(const LaneMask<kLanes>& mask, const Floats& a) {
    return mallocmuzero::Select(mask, a, Floats::All(0));
  }

  // qtransform_completed_by_mix_value.
  Floats Rescaled(const Node& node, const Floats& completed) const {
    constexpr float kHighest = std::numeric_limits<float>::infinity();
    const float low = MinOf(mallocmuzero::Select(actions_, completed, Floats::All(kHighest)));
    const float high = MaxOf(mallocmuzero::Select(actions_, completed, Floats::All(-kHighest)));
    const float scale = (config_.maxvisit_init + MaxOf(node.child_visits)) * config_.value_scale;
    return scale * ((completed - low) / std::max(high - low, least_range_));
  }

  // score_considered, then the argmax: of the legal actions with so many visits.
  uint32_t Best(const Root& root, const Node& node, float visits) const {
    const Floats logits = node.logits - MaxOf(node.logits);
    const Floats score = root.gumbel + logits + Rescaled(node, Completed(node));
    const LaneMask<kLanes> considered = (node.child_visits == visits) & root.legal;
    return Argmax(Max(score, kLowScore), considered, root.first_legal);
  }

  SearchConfig config_;
  float least_range_;
  LaneMask<kLanes> actions_;
  ConsideredVisits considered_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_GUMBEL_RULE_H_
