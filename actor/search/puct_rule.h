// How MuZero goes down a tree, by upper confidence bounds. Names and order of operations follow
// mctx 0.0.71: action_selection.py, qtransforms.py and policies.py.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "actor/search/lanes.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"

namespace mallocmuzero {

// mctx adds noise of up to 1e-7 to scores; here the lower action wins a tie, so that only the root
// has noise.
template <int kLanes>
class PuctRule {
 public:
  using Floats = Lanes<kLanes>;
  using Node = TreeNode<kLanes>;
  using Root = RootState<kLanes>;

  PuctRule(const SearchConfig& config, uint32_t actions)
      : least_range_(std::max(config.value_floor, kEpsilon)),
        actions_(LaneMask<kLanes>::Of(LowBits(actions))),
        exploration_(config.simulations + 2) {
    for (uint32_t visits = 0; visits < exploration_.size(); ++visits) {
      const auto n = static_cast<float>(visits);
      const float pb_c = config.pb_c_init + std::log((n + config.pb_c_base + 1) / config.pb_c_base);
      exploration_[visits] = std::sqrt(n) * pb_c;
    }
  }

  void StartRoot(uint32_t /*legal_actions*/, Root& /*root*/) const {}

  uint32_t SelectAtRoot(const Root& root, const Node& node) const {
    return Argmax(Score(node), root.legal, root.first_legal);
  }

  uint32_t Select(const Node& node) const { return Argmax(Score(node), actions_, 0); }

  // Draws in proportion to visits^(1 / temperature): the highest of noise + logit has that
  // distribution.
  uint32_t Choose(const Root& root, const Node& node) const {
    constexpr float kTiny = std::numeric_limits<float>::min();
    const float temperature = std::max(kTiny, root.temperature);
    float visits[kLanes];
    float score[kLanes];
    node.child_visits.Store(visits);
    root.gumbel.Store(score);
    const float most = std::max(MaxOf(node.child_visits), 1.0F);
    for (int lane = 0; lane < kLanes; ++lane) {
      score[lane] += std::log(std::max(kTiny, visits[lane] / most)) / temperature;
    }
    return Argmax(Floats::Load(score), root.legal, root.first_legal);
  }

  // Before the first visit: the prior.
  Floats Policy(const Root& root, const Node& node) const {
    if (node.visits == 1) return mallocmuzero::Select(root.legal, node.priors, Floats::All(0));
    return node.child_visits / (node.visits - 1);
  }

  Floats Completed(const Node& node) const {
    return mallocmuzero::Select(node.child_visits > 0, node.q_values, Floats::All(node.value));
  }

 private:
  static constexpr float kEpsilon = 1e-8F;

  // muzero_action_selection with qtransform_by_parent_and_siblings. Lanes past the last action were
  // never visited and so count as the node's own value, which is in the range anyway.
  Floats Score(const Node& node) const {
    const LaneMask<kLanes> visited = node.child_visits > 0;
    const Floats known = Completed(node);
    const float low = std::min(node.value, MinOf(known));
    const float high = std::max(node.value, MaxOf(known));
    const Floats q_values = mallocmuzero::Select(visited, node.q_values, Floats::All(low));
    const Floats value_score = (q_values - low) / std::max(high - low, least_range_);
    const float exploration = exploration_[static_cast<uint32_t>(node.visits)];
    const Floats more_visits = node.child_visits + Floats::All(1);
    return value_score + exploration * node.priors / more_visits;
  }

  float least_range_;
  LaneMask<kLanes> actions_;
  std::vector<float> exploration_;  // by visits of a node
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_PUCT_RULE_H_
