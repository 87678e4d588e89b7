// Monte Carlo tree search over latent states: many games at once, one network step a simulation.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/latent_model.h"

namespace mallocmuzero {

class SearchTrees;

// Actions are the bits of a mask.
inline constexpr uint32_t kMaxSearchActions = 32;

// Defaults are those of mctx 0.0.71.
struct SearchConfig {
  // kGumbel: gumbel_muzero_policy of mctx, after Danihelka et al., Policy improvement by planning
  // with Gumbel, 2022. kPuct: muzero_policy of mctx, after Schrittwieser et al., Mastering Atari,
  // Go, chess and shogi by planning with a learned model, 2019.
  enum class Kind : uint8_t { kGumbel, kPuct };
  Kind kind = Kind::kGumbel;

  uint32_t simulations = 16;  // network steps a search
  float discount = 1;

  // The Q-values of a node are rescaled to [0, 1]: they are divided by their range or by this
  // number, whichever is larger. It is in the units of values. Without it, differences that the
  // value network cannot tell apart would count as much as real ones. mctx has 0.
  float value_floor = 0;

  // kGumbel. A rescaled Q-value is multiplied by (maxvisit_init + most visits of a child) *
  // value_scale and added to the logit.
  uint32_t max_considered_actions = 16;  // at the root
  float maxvisit_init = 50;
  float value_scale = 0.1F;

  // kPuct.
  float pb_c_init = 1.25F;
  float pb_c_base = 19652;
  float dirichlet_alpha = 0.3F;
  float dirichlet_fraction = 0.25F;  // share of the noise in the prior of the root
};

// InvalidArgument, naming the field, if the config or the sizes are out of range. Slots and visit
// counts must fit 32 bits.
absl::Status CheckSearch(const SearchConfig& config, uint32_t games, uint32_t actions);

struct RootOptions {
  // Bit a: action a is legal. At least one is; bits above the last action are ignored.
  uint32_t legal = ~0U;

  // A factor of the noise. kGumbel adds noise to the logits of the root. kPuct applies the factor
  // to dirichlet_fraction and to the choice of the action. 0 is for evaluation: there is no noise,
  // and the lower action wins a tie.
  float gumbel_scale = 1;

  // kPuct draws the action in proportion to visits^(1 / temperature). 0: it takes the most visited.
  float temperature = 1;

  // Seed of the noise. The same seed gives the same tree, bit for bit.
  uint64_t seed = 0;

  // Gumbel noise to use instead of drawn noise: one number for each action, before gumbel_scale.
  // Empty: the noise is drawn from the seed.
  absl::Span<const float> gumbel;
};

// The result of a search. Spans have one entry for each action. They stay valid until the next
// Result or Start of the same game.
struct SearchResult {
  // The action to take; always legal. kGumbel: among the most visited actions, the one with the
  // highest noise + logit + completed Q-value.
  uint32_t action = 0;

  // The mean of the root's network value and of all values that were backed up to it (mctx:
  // summary().value). It includes what exploration cost. The value of following `policy` is the sum
  // of policy * q_values.
  float value = 0;

  // The target of the policy network. kGumbel: softmax(logits + completed Q-values); kPuct: shares
  // of the visits. 0 for illegal actions.
  absl::Span<const float> policy;

  absl::Span<const uint32_t> visits;

  // Discounted, with the step's reward. An action that was not visited has the mixed value of the
  // paper with kGumbel, which estimates the unvisited actions together, and `value` with kPuct.
  absl::Span<const float> q_values;
};

// A copy of one node of a tree, for tests. Nodes are numbered in the order of their simulations.
// Node 0 is the root and its own parent.
struct SearchNode {
  uint32_t parent = 0;
  uint32_t action = 0;  // of the parent, which leads to this node
  uint32_t visits = 0;
  float value = 0;  // mean of its network value and of all values backed up to it
};

// The trees of a fixed number of games. The games are independent: each starts and finishes when
// the caller likes. The constructor takes all memory. Not thread-safe; each thread has its own.
//
//   search.Start(game, value, logits, options);      // for each game
//   while (any game is not Done) {
//     search.Select(games, steps);                   // of the games that are not done
//     model.EvaluateSteps(steps, evaluations);
//     search.Backup(games, evaluations);
//   }
//   search.Result(game)
//
// BatchedSearch does this. Values and rewards may have any sign. With values that are not finite
// the search is poor, but its action is legal.
class Search {
 public:
  // CheckSearch must accept the arguments.
  Search(const SearchConfig& config, uint32_t games, uint32_t actions);
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;

  uint32_t games() const { return games_; }
  uint32_t actions() const { return actions_; }

  // The number of latent slots that the model must have. Node n of a game uses slot
  // RootSlot(game) + n.
  uint32_t slots() const { return games_ * (config_.simulations + 1); }
  uint32_t RootSlot(uint32_t game) const { return game * (config_.simulations + 1); }

  // Begins a new search for a game. `value` and `logits` [actions, not normalised] are what the
  // network says of the state in RootSlot(game).
  void Start(uint32_t game, float value, absl::Span<const float> logits,
             const RootOptions& options);

  // The next step of each of `games`. No game may be done, and no game may be listed twice. The
  // call may be repeated: nothing changes before Backup.
  void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps);

  // Takes the network's results for the steps that Select gave last for `games`, in the same order.
  void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations);

  // True if the game's simulations are spent.
  bool Done(uint32_t game) const { return simulations_done(game) == config_.simulations; }
  uint32_t simulations_done(uint32_t game) const;

  // The result of the simulations so far.
  SearchResult Result(uint32_t game);

  // Nodes 0 to simulations_done(game).
  SearchNode Node(uint32_t game, uint32_t node) const;

 private:
  SearchConfig config_;
  uint32_t games_;
  uint32_t actions_;
  std::unique_ptr<SearchTrees> trees_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_H_
