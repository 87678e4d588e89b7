// How MuZero goes down a tree, by upper confidence bounds. Names and order of operations follow
// mctx 0.0.71: action_selection.py, qtransforms.py and policies.py.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "actor/search/float4.h"
#include "actor/search/node_quad.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"

namespace mallocmuzero {

// Works on four nodes at a time. Actions is an ActionCount. mctx adds noise of up to 1e-7 to
// scores; here the lower action wins a tie, so that only the root has noise.
template <class Actions>
class PuctRule {
 public:
  static constexpr int kMax = Actions::kMax;
  using Quad = NodeQuad<kMax>;
  using Root = RootState<kMax>;

  PuctRule(const SearchConfig& config, Actions actions)
      : actions_(actions),
        least_range_(std::max(config.value_floor, kEpsilon)),
        exploration_(config.simulations + 2) {
    for (uint32_t visits = 0; visits < exploration_.size(); ++visits) {
      const auto n = static_cast<float>(visits);
      const float pb_c = config.pb_c_init + std::log((n + config.pb_c_base + 1) / config.pb_c_base);
      exploration_[visits] = std::sqrt(n) * pb_c;
    }
  }

  void StartRoot(uint32_t /*legal_actions*/, Root& /*root*/) const {}

  Int4 SelectAtRoot(const Root* const* roots, const Quad& nodes) const {
    return ArgmaxAtRoot({roots, actions_.count()}, Scores(nodes), actions_.count(), Every);
  }

  Int4 Select(const Quad& nodes) const { return Argmax(Scores(nodes), actions_.count()); }

  // Draws in proportion to visits^(1 / temperature): the highest of noise + logit has that
  // distribution.
  Int4 Choose(const Root* const* roots, const Quad& nodes) const {
    constexpr float kTiny = std::numeric_limits<float>::min();
    const RootQuad<kMax> root(roots, actions_.count());
    const Float4 most = Max(MaxOf(nodes.child_visits, actions_.count()), All(1));
    Columns<kMax> scores = root.gumbel;
    for (int a = 0; a < actions_.count(); ++a) {
      const Float4 share = Max(nodes.child_visits.at[a] / most, All(kTiny));
      for (int k = 0; k < 4; ++k) {
        scores.at[a][k] += std::log(share[k]) / std::max(kTiny, roots[k]->temperature);
      }
    }
    return ArgmaxAtRoot(root, scores, actions_.count(), Every);
  }

  // Shares of the visits; before the first one the prior.
  Columns<kMax> Policy(const Root* const* roots, const Quad& nodes) const {
    const RootQuad<kMax> root(roots, actions_.count());
    Columns<kMax> policy;
    for (int a = 0; a < actions_.count(); ++a) {
      const Float4 share = nodes.child_visits.at[a] / Max(nodes.visits - 1, All(1));
      policy.at[a] = OrZero(root.IsLegal(a), nodes.visits == 1 ? nodes.priors.at[a] : share);
    }
    return policy;
  }

  // The Q-values, and the node's value where there was no visit.
  Columns<kMax> Completed(const Quad& nodes) const {
    Columns<kMax> q_values;
    for (int a = 0; a < actions_.count(); ++a) {
      q_values.at[a] = nodes.child_visits.at[a] > 0 ? nodes.q_values.at[a] : nodes.value;
    }
    return q_values;
  }

 private:
  static constexpr float kEpsilon = 1e-8F;

  static Int4 Every(int /*action*/) { return Int4{-1, -1, -1, -1}; }

  // muzero_action_selection with qtransform_by_parent_and_siblings.
  Columns<kMax> Scores(const Quad& nodes) const {
    Columns<kMax> scores = Completed(nodes);
    const Float4 high = Max(nodes.value, MaxOf(scores, actions_.count()));
    Float4 low = nodes.value;
    for (int a = 0; a < actions_.count(); ++a) low = Min(low, scores.at[a]);
    const Float4 range = Max(high - low, All(least_range_));
    Float4 exploration;
    for (int k = 0; k < 4; ++k) {
      exploration[k] = exploration_[static_cast<int32_t>(nodes.visits[k])];
    }
    for (int a = 0; a < actions_.count(); ++a) {
      const Float4 visits = nodes.child_visits.at[a];
      const Float4 q_value = visits > 0 ? nodes.q_values.at[a] : low;
      scores.at[a] = (q_value - low) / range + exploration * nodes.priors.at[a] / (visits + 1);
    }
    return scores;
  }

  Actions actions_;
  float least_range_;
  std::vector<float> exploration_;  // by visits of a node
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_
