// The memory of search trees: going down and coming back up.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_ARENA_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_ARENA_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/search/float4.h"
#include "actor/search/node_quad.h"
#include "actor/search/search.h"
#include "actor/search/search_node.h"
#include "actor/search/search_trees.h"
#include "base/rounding.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The nodes of a game lie together: a simulation touches a few kilobytes. Each node remembers which
// action comes next. This action is computed again after a value was backed up to the node, for
// four nodes of any games at a time. Rule is GumbelRule or PuctRule.
template <class Actions, template <class> class Rule>
class SearchArena final : public SearchTrees {
 public:
  SearchArena(const SearchConfig& config, uint32_t games, uint32_t actions)
      : actions_(actions),
        rule_(config, actions_),
        discount_(config.discount),
        stride_(config.simulations + 1),
        nodes_(size_t{games} * stride_),
        games_(games),
        policy_(size_t{games} * kMax),
        q_values_(size_t{games} * kMax),
        visits_(size_t{games} * kMax) {}

  void Start(uint32_t game, float value, absl::Span<const float> logits,
             absl::Span<const float> gumbel, const RootOptions& options) override {
    Game& state = games_[game];
    const uint32_t legal = options.legal & LowBits(actions_.count());
    assert(legal != 0);
    state.root.legal = legal;
    state.root.first_legal = std::countr_zero(legal);
    state.root.temperature = options.temperature;
    std::copy(gumbel.begin(), gumbel.end(), state.root.gumbel);
    rule_.StartRoot(std::popcount(legal), state.root);
    state.simulations = 0;
    Node& root = *Tree(game);
    root.parent = root.action = 0;
    root.reward = 0;
    Expand(root, value, logits, legal);
    FinishLeaves();
    SelectAtRoots({game});
  }

  void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps) override {
    for (size_t i = 0; i < games.size(); ++i) {
      Game& state = games_[games[i]];
      assert(state.simulations < stride_ - 1);
      const Node* const tree = Tree(games[i]);
      state.leaf_parent = Descend(tree);
      const uint32_t root = games[i] * stride_;
      steps[i] = {.parent = root + state.leaf_parent,
                  .child = root + state.simulations + 1,
                  .action = tree[state.leaf_parent].next_action};
    }
  }

  void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations) override {
    const size_t actions = actions_.count();
    for (size_t begin = 0; begin < games.size(); begin += kGamesAtOnce) {
      const absl::Span<const uint32_t> some = games.subspan(begin, kGamesAtOnce);
      for (size_t k = 0; k < some.size(); ++k) {
        const size_t i = begin + k;
        Node& leaf = AddLeaf(some[k], evaluations.rewards[i]);
        Expand(leaf, evaluations.values[i], evaluations.logits.subspan(i * actions, actions),
               LowBits(actions_.count()));
        BackUp(some[k], leaf);
      }
      FinishLeaves();
      SelectAtChanged();
      SelectAtRoots(some);
    }
  }

  uint32_t SimulationsDone(uint32_t game) const override { return games_[game].simulations; }

  SearchResult Result(uint32_t game) override {
    const Node& node = *Tree(game);
    const std::array<const RootState<kMax>*, 4> roots = Four(&games_[game].root);
    const NodeQuad<kMax> nodes(Four(&node).data(), actions_.count());
    const Columns<kMax> policy = rule_.Policy(roots.data(), nodes);
    const Columns<kMax> q_values = rule_.Completed(nodes);
    const size_t row = size_t{game} * kMax;
    for (int a = 0; a < actions_.count(); ++a) {
      policy_[row + a] = policy.at[a][0];
      q_values_[row + a] = q_values.at[a][0];
      visits_[row + a] = RoundToZero(node.child_visits[a]);
    }
    const size_t actions = actions_.count();
    const uint32_t chosen = rule_.Choose(roots.data(), nodes)[0];
    return {.action = chosen,
            .value = node.value,
            .policy = absl::MakeConstSpan(&policy_[row], actions),
            .visits = absl::MakeConstSpan(&visits_[row], actions),
            .q_values = absl::MakeConstSpan(&q_values_[row], actions)};
  }

  SearchNode NodeAt(uint32_t game, uint32_t node) const override {
    const Node& found = Tree(game)[node];
    const uint32_t visits = RoundToZero(found.visits);
    return {found.parent, found.action, visits, found.value};
  }

 private:
  static constexpr int kMax = Actions::kMax;
  // With so few games, the memory that they touch stays in the first-level cache.
  static constexpr size_t kGamesAtOnce = 16;

  using Node = TreeNode<kMax>;

  struct Game {
    RootState<kMax> root;
    uint32_t simulations = 0;  // done
    uint32_t leaf_parent = 0;  // of the node that the next simulation adds
  };

  // Nodes that wait for arithmetic; a multiple of four.
  template <size_t kSize>
  struct Waiting {
    std::array<Node*, kSize> nodes;
    size_t count = 0;

    bool full() const { return count == kSize; }
    void Add(Node* node) { nodes[count++] = node; }

    // Four nodes at a time; the last ones more than once.
    template <class Function>
    void Take(Function function) {
      for (size_t k = count; k % 4 != 0; ++k) nodes[k] = nodes[count - 1];
      for (size_t k = 0; k < count; k += 4) function(nodes.data() + k);
      count = 0;
    }
  };

  // The `count` lowest bits.
  static uint32_t LowBits(int count) { return ~0U >> (32 - count); }

  template <class T>
  static std::array<const T*, 4> Four(const T* one) {
    return {one, one, one, one};
  }

  Node* Tree(uint32_t game) { return nodes_.data() + size_t{game} * stride_; }
  const Node* Tree(uint32_t game) const { return nodes_.data() + size_t{game} * stride_; }

  // The node whose next action has not been tried.
  static uint32_t Descend(const Node* tree) {
    uint32_t at = 0;
    while (const uint32_t child = tree[at].children[tree[at].next_action]) at = child;
    return at;
  }

  // A node that no simulation has passed.
  void Expand(Node& node, float value, absl::Span<const float> logits, uint32_t legal) {
    node.value = node.raw_value = value;
    node.visits = 1;
    for (int a = 0; a < actions_.count(); ++a) {
      node.child_visits[a] = node.q_values[a] = 0;
      node.children[a] = 0;
      node.logits[a] = (legal >> a & 1U) != 0 ? logits[a] : kNoLogit;
    }
    leaves_.Add(&node);
  }

  Node& AddLeaf(uint32_t game, float reward) {
    Game& state = games_[game];
    Node* const tree = Tree(game);
    const uint32_t index = ++state.simulations;
    Node& parent = tree[state.leaf_parent];
    Node& leaf = tree[index];
    leaf.parent = state.leaf_parent;
    leaf.action = parent.next_action;
    leaf.reward = reward;
    parent.children[parent.next_action] = index;
    return leaf;
  }

  void BackUp(uint32_t game, const Node& leaf) {
    Node* const tree = Tree(game);
    const Node* node = &leaf;
    float backed_up = leaf.value;
    for (;;) {
      Node* const parent = &tree[node->parent];
      backed_up = node->reward + discount_ * backed_up;
      parent->AddVisit(node->action, node->reward + discount_ * node->value, backed_up);
      if (parent == tree) return;
      if (changed_.full()) SelectAtChanged();
      changed_.Add(parent);
      node = parent;
    }
  }

  // Without visits all Q-values are the same, so the next action is that of the highest prior.
  void FinishLeaves() {
    leaves_.Take([&](Node* const* leaves) {
      const NodeQuad<kMax> nodes(leaves, actions_.count());
      const Columns<kMax> priors = Softmax(nodes.logits, actions_.count());
      const Int4 next = Argmax(priors, actions_.count());
      for (int k = 0; k < 4; ++k) {
        for (int a = 0; a < actions_.count(); ++a) leaves[k]->priors[a] = priors.at[a][k];
        leaves[k]->next_action = next[k];
      }
    });
  }

  void SelectAtChanged() {
    changed_.Take([&](Node* const* nodes) {
      const Int4 next = rule_.Select(NodeQuad<kMax>(nodes, actions_.count()));
      for (int k = 0; k < 4; ++k) nodes[k]->next_action = next[k];
    });
  }

  // Chooses the next action at the roots of the games that have simulations left.
  void SelectAtRoots(absl::Span<const uint32_t> games) {
    std::array<Node*, kGamesAtOnce> nodes;
    std::array<const RootState<kMax>*, kGamesAtOnce> roots;
    size_t count = 0;
    for (const uint32_t game : games) {
      if (games_[game].simulations == stride_ - 1) continue;
      nodes[count] = Tree(game);
      roots[count++] = &games_[game].root;
    }
    for (size_t k = count; k % 4 != 0; ++k) {
      nodes[k] = nodes[count - 1];
      roots[k] = roots[count - 1];
    }
    for (size_t k = 0; k < count; k += 4) {
      const NodeQuad<kMax> quad(nodes.data() + k, actions_.count());
      const Int4 next = rule_.SelectAtRoot(roots.data() + k, quad);
      for (int lane = 0; lane < 4; ++lane) nodes[k + lane]->next_action = next[lane];
    }
  }

  Actions actions_;
  Rule<Actions> rule_;
  float discount_;
  uint32_t stride_;  // nodes of a game
  std::vector<Node> nodes_;
  std::vector<Game> games_;
  Waiting<kGamesAtOnce> leaves_;
  Waiting<64> changed_;
  std::vector<float> policy_;  // [games, kMax], as are the next two
  std::vector<float> q_values_;
  std::vector<uint32_t> visits_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_ARENA_H_
