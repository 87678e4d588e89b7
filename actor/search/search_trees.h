// The trees of a search: their memory, going down and coming back up.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/search/lanes.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The trees, whatever the number of lanes and the rule. Selecting and backing up are calls for
// many games, so that a virtual call costs nothing.
class SearchTrees {
 public:
  SearchTrees() = default;
  SearchTrees(const SearchTrees&) = delete;
  SearchTrees& operator=(const SearchTrees&) = delete;
  virtual ~SearchTrees() = default;

  // `gumbel` is scaled; spans have one entry an action.
  virtual void Start(uint32_t game, float value, absl::Span<const float> logits,
                     absl::Span<const float> gumbel, const RootOptions& options) = 0;
  virtual void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps) const = 0;
  virtual void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations) = 0;
  virtual uint32_t SimulationsDone(uint32_t game) const = 0;
  virtual SearchResult Result(uint32_t game) = 0;
  virtual SearchNode Node(uint32_t game, uint32_t node) const = 0;
};

// The nodes of a game lie together: a simulation touches a few kilobytes. Each node remembers which
// action comes next, found anew when something is backed up to it. That keeps the searching
// arithmetic of the nodes on one path independent of each other, and descending is a walk.
template <int kLanes, class Rule>
class SearchTreesOf final : public SearchTrees {
 public:
  SearchTreesOf(const SearchConfig& config, uint32_t games, uint32_t actions)
      : rule_(config, actions),
        actions_(actions),
        all_actions_(LowBits(actions)),
        discount_(config.discount),
        stride_(config.simulations + 1),
        simulations_(config.simulations),
        nodes_(static_cast<size_t>(games) * stride_),
        games_(games),
        policy_(static_cast<size_t>(games) * kLanes),
        q_values_(static_cast<size_t>(games) * kLanes),
        visits_(static_cast<size_t>(games) * kLanes) {}

  void Start(uint32_t game, float value, absl::Span<const float> logits,
             absl::Span<const float> gumbel, const RootOptions& options) override {
    Game& state = games_[game];
    const uint32_t legal = options.legal & all_actions_;
    assert(legal != 0);
    std::array<float, kLanes> noise{};
    std::copy(gumbel.begin(), gumbel.end(), noise.begin());
    state.root.gumbel = Lanes<kLanes>::Load(noise.data());
    state.root.legal = LaneMask<kLanes>::Of(legal);
    state.root.first_legal = std::countr_zero(legal);
    state.root.temperature = options.temperature;
    rule_.StartRoot(std::popcount(legal), state.root);
    TreeNode<kLanes>& root = *Tree(game);
    root.parent = root.action = 0;
    root.reward = 0;
    root.Expand(value, logits, legal);
    root.next_action = rule_.SelectAtRoot(state.root, root);
    state.simulations = 0;
    state.leaf = 0;
  }

  void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps) const override {
    for (size_t i = 0; i < games.size(); ++i) {
      const Game& state = games_[games[i]];
      assert(state.simulations < simulations_);
      const uint32_t root = games[i] * stride_;
      const uint32_t action = nodes_[root + state.leaf].next_action;
      steps[i] = {root + state.leaf, root + state.simulations + 1, action};
    }
  }

  void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations) override {
    for (size_t i = 0; i < games.size(); ++i) {
      BackUp(games[i], evaluations.values[i], evaluations.rewards[i],
             evaluations.logits.subspan(i * actions_, actions_));
    }
  }

  uint32_t SimulationsDone(uint32_t game) const override { return games_[game].simulations; }

  SearchResult Result(uint32_t game) override {
    const RootState<kLanes>& root = games_[game].root;
    const TreeNode<kLanes>& node = *Tree(game);
    const size_t row = static_cast<size_t>(game) * kLanes;
    rule_.Policy(root, node).Store(&policy_[row]);
    rule_.Completed(node).Store(&q_values_[row]);
    std::array<float, kLanes> visits;
    node.child_visits.Store(visits.data());
    std::copy(visits.begin(), visits.end(), &visits_[row]);
    return {.action = rule_.Choose(root, node),
            .value = node.value,
            .policy = absl::MakeConstSpan(&policy_[row], actions_),
            .visits = absl::MakeConstSpan(&visits_[row], actions_),
            .q_values = absl::MakeConstSpan(&q_values_[row], actions_)};
  }

  SearchNode Node(uint32_t game, uint32_t node) const override {
    const TreeNode<kLanes>& found = Tree(game)[node];
    return {found.parent, found.action, static_cast<uint32_t>(found.visits), found.value};
  }

 private:
  struct Game {
    RootState<kLanes> root;
    uint32_t simulations = 0;  // done
    uint32_t leaf = 0;         // node that the next simulation ends at
  };

  TreeNode<kLanes>* Tree(uint32_t game) {
    return nodes_.data() + static_cast<size_t>(game) * stride_;
  }
  const TreeNode<kLanes>* Tree(uint32_t game) const {
    return nodes_.data() + static_cast<size_t>(game) * stride_;
  }

  void BackUp(uint32_t game, float value, float reward, absl::Span<const float> logits) {
    Game& state = games_[game];
    TreeNode<kLanes>* const tree = Tree(game);
    const uint32_t leaf = ++state.simulations;
    TreeNode<kLanes>* node = &tree[leaf];
    node->parent = state.leaf;
    node->action = tree[state.leaf].next_action;
    node->reward = reward;
    node->Expand(value, logits, all_actions_);
    node->next_action = rule_.Select(*node);
    tree[node->parent].children[node->action] = leaf;
    float backed_up = value;
    for (uint32_t at = leaf; at != 0;) {
      const uint32_t parent = node->parent;
      backed_up = node->reward + discount_ * backed_up;
      tree[parent].AddVisit(node->action, node->reward + discount_ * node->value, backed_up);
      at = parent;
      node = &tree[at];
      if (at != 0) node->next_action = rule_.Select(*node);
    }
    if (leaf == simulations_) return;
    node->next_action = rule_.SelectAtRoot(state.root, *node);
    state.leaf = Descend(tree);
  }

  // The node whose next action has not been tried.
  static uint32_t Descend(const TreeNode<kLanes>* tree) {
    uint32_t at = 0;
    while (const uint32_t child = tree[at].children[tree[at].next_action]) at = child;
    return at;
  }

  Rule rule_;
  uint32_t actions_;
  uint32_t all_actions_;
  float discount_;
  uint32_t stride_;  // nodes of a game
  uint32_t simulations_;
  std::vector<TreeNode<kLanes>> nodes_;
  std::vector<Game> games_;
  std::vector<float> policy_;  // [games, lanes], as are the next two
  std::vector<float> q_values_;
  std::vector<uint32_t> visits_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_
