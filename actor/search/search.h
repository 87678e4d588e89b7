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

  // Q-values of a node are rescaled to [0, 1] by their range, but by no less than this (in the
  // units of values): differences that the value network cannot tell apart must not count as much
  // as real ones. 0 as in mctx.
  float value_floor = 0;

  // kGumbel. Rescaled Q-values weigh (maxvisit_init + most visits of a child) * value_scale against
  // logits.
  uint32_t max_considered_actions = 16;  // at the root
  float maxvisit_init = 50;
  float value_scale = 0.1F;

  // kPuct.
  float pb_c_init = 1.25F;
  float pb_c_base = 19652;
  float dirichlet_alpha = 0.3F;
  float dirichlet_fraction = 0.25F;  // share of the noise in the prior of the root
};

// InvalidArgument, naming the field, if such a search cannot be. Slots and visit counts are 32-bit.
absl::Status CheckSearch(const SearchConfig& config, uint32_t games, uint32_t actions);

struct RootOptions {
  uint32_t legal = ~0U;  // bit a: action a is legal. One at least; bits past the last are ignored

  // Times the noise: kGumbel: on the logits of the root; kPuct: on dirichlet_fraction and on the
  // choice of the action. 0: none, which is for evaluation, and ties go to the lower action.
  float gumbel_scale = 1;

  // kPuct: the action is drawn in proportion to visits^(1 / temperature); 0: the most visited.
  float temperature = 1;

  // Of the noise: the same seed gives the same tree, bit for bit.
  uint64_t seed = 0;

  // Gumbel noise to use instead, one an action and before gumbel_scale; empty: drawn from the seed.
  absl::Span<const float> gumbel;
};

// What a search found. Spans have one entry an action and hold until the game's next Result or
// Start.
struct SearchResult {
  // kGumbel: of the most visited actions, that with the highest noise + logit + completed Q-value.
  // Legal, as always.
  uint32_t action = 0;

  // The root's: its network value and all that was backed up to it, averaged (mctx:
  // summary().value). Exploration and all; the value of `policy` is the sum of policy * q_values.
  float value = 0;

  // What the policy network is trained towards: kGumbel: softmax(logits + completed Q-values);
  // kPuct: shares of the visits. 0 where illegal.
  absl::Span<const float> policy;

  absl::Span<const uint32_t> visits;

  // Discounted, with the step's reward. kGumbel: the mixed value where not visited, which estimates
  // what the rest are worth together; kPuct: `value`.
  absl::Span<const float> q_values;
};

// One node of a tree, to look at. Nodes are numbered in the order of their simulations; 0 is the
// root, which is its own parent.
struct SearchNode {
  uint32_t parent = 0;
  uint32_t action = 0;  // that led here
  uint32_t visits = 0;
  float value = 0;  // mean of its network value and all that was backed up to it
};

// The trees of a fixed number of games, independent of each other: games start and finish when
// their caller likes. All memory is taken by the constructor. Not thread-safe; a thread has its
// own.
//
//   search.Start(game, value, logits, options);      // for each game
//   while (any game is not Done) {
//     search.Select(games, steps);                   // games: those that are not done
//     model.EvaluateSteps(steps, evaluations);
//     search.Backup(games, evaluations);
//   }
//   search.Result(game)
//
// BatchedSearch does this. Values and rewards may have any sign. Values that are not finite give a
// poor search, but a legal action.
class Search {
 public:
  // CheckSearch must say OK.
  Search(const SearchConfig& config, uint32_t games, uint32_t actions);
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;

  uint32_t games() const { return games_; }
  uint32_t actions() const { return actions_; }

  // Latent slots that the model must have. Node n of a game is in slot RootSlot(game) + n.
  uint32_t slots() const { return games_ * (config_.simulations + 1); }
  uint32_t RootSlot(uint32_t game) const { return game * (config_.simulations + 1); }

  // Begins a game's search anew. `value` and `logits` [actions, not normalised] are the network's
  // of the state in RootSlot(game).
  void Start(uint32_t game, float value, absl::Span<const float> logits,
             const RootOptions& options);

  // The next step of each of `games`, none of which is done and none of which is there twice. May
  // be repeated: nothing changes before Backup.
  void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps);

  // Takes what the steps last selected for `games` led to, in the order of `games`.
  void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations);

  // True if the game's simulations are spent.
  bool Done(uint32_t game) const { return simulations_done(game) == config_.simulations; }
  uint32_t simulations_done(uint32_t game) const;

  // What was found so far.
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
