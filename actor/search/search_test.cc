#include "actor/search/search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "actor/search/batched_search.h"
#include "actor/search/testing/hash_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::HashModel;
using testing::HashModelOptions;
using ::testing::HasSubstr;

using Kind = SearchConfig::Kind;

std::vector<uint32_t> Games(uint32_t count) {
  std::vector<uint32_t> games(count);
  std::iota(games.begin(), games.end(), 0);
  return games;
}

// All nodes of a game's tree and its result, in a form that can be compared.
struct Outcome {
  std::vector<uint32_t> parents;
  std::vector<float> values;
  std::vector<float> policy;
  std::vector<uint32_t> visits;
  std::vector<float> q_values;
  uint32_t action = 0;
  float value = 0;

  bool operator==(const Outcome&) const = default;
};

Outcome OutcomeOf(Search& search, uint32_t game) {
  Outcome outcome;
  for (uint32_t n = 0; n <= search.simulations_done(game); ++n) {
    outcome.parents.push_back(search.Node(game, n).parent);
    outcome.values.push_back(search.Node(game, n).value);
  }
  const SearchResult result = search.Result(game);
  outcome.policy.assign(result.policy.begin(), result.policy.end());
  outcome.visits.assign(result.visits.begin(), result.visits.end());
  outcome.q_values.assign(result.q_values.begin(), result.q_values.end());
  outcome.action = result.action;
  outcome.value = result.value;
  return outcome;
}

// Searches one root of the hash model as a single game.
Outcome SearchOnce(const SearchConfig& config, uint32_t actions, uint32_t root,
                   const RootOptions& options, const HashModelOptions& model_options = {}) {
  Search search(config, 1, actions);
  HashModel model(model_options, search.slots(), actions);
  BatchedSearch(search, model).Run({0}, {static_cast<float>(root)}, {options});
  return OutcomeOf(search, 0);
}

class SearchOfEachKind : public ::testing::TestWithParam<Kind> {
 protected:
  static SearchConfig Config(uint32_t simulations) {
    return {.kind = GetParam(), .simulations = simulations};
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, SearchOfEachKind, ::testing::Values(Kind::kGumbel, Kind::kPuct),
                         [](const auto& info) {
                           return info.param == Kind::kGumbel ? "Gumbel" : "Puct";
                         });

TEST_P(SearchOfEachKind, LeavesIllegalActionsAloneAtTheRoot) {
  for (const uint32_t actions : {3U, 8U, 13U, 32U}) {
    for (uint32_t root = 0; root < 20; ++root) {
      const uint32_t legal = 0b101;
      const Outcome outcome = SearchOnce(Config(24), actions, root, {.legal = legal, .seed = root});
      float policy = 0;
      for (uint32_t a = 0; a < actions; ++a) {
        if ((legal >> a & 1U) != 0) {
          policy += outcome.policy[a];
          continue;
        }
        EXPECT_EQ(outcome.visits[a], 0);
        EXPECT_EQ(outcome.policy[a], 0);
        EXPECT_NE(outcome.action, a);
      }
      EXPECT_NEAR(policy, 1, 1e-5);
      EXPECT_EQ(outcome.visits[0] + outcome.visits[2], 24);
    }
  }
}

TEST_P(SearchOfEachKind, TakesTheOnlyLegalAction) {
  for (const uint32_t action : {0U, 4U, 31U}) {
    const Outcome outcome = SearchOnce(Config(16), 32, 5, {.legal = 1U << action});
    EXPECT_EQ(outcome.action, action);
    EXPECT_EQ(outcome.visits[action], 16);
    EXPECT_EQ(outcome.policy[action], 1);
  }
}

TEST_P(SearchOfEachKind, IsTheSameForTheSameSeed) {
  EXPECT_EQ(SearchOnce(Config(32), 8, 3, {.seed = 11}), SearchOnce(Config(32), 8, 3, {.seed = 11}));
}

TEST_P(SearchOfEachKind, DiffersBetweenSeeds) {
  const Outcome first = SearchOnce(Config(32), 8, 3, {.seed = 0});
  int different = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    if (SearchOnce(Config(32), 8, 3, {.seed = seed}).parents != first.parents) ++different;
  }
  EXPECT_GE(different, 15);
}

TEST_P(SearchOfEachKind, IgnoresTheSeedWithoutNoise) {
  EXPECT_EQ(SearchOnce(Config(32), 8, 3, {.gumbel_scale = 0, .seed = 1}),
            SearchOnce(Config(32), 8, 3, {.gumbel_scale = 0, .seed = 2}));
}

TEST_P(SearchOfEachKind, GivesTiesToTheLowerAction) {
  const HashModelOptions flat = {.value_scale = 0, .reward_scale = 0, .logit_scale = 0};
  const Outcome outcome = SearchOnce(Config(8), 8, 1, {.gumbel_scale = 0}, flat);
  EXPECT_THAT(outcome.visits, Each(1));
  EXPECT_EQ(outcome.action, 0);
  const Outcome masked = SearchOnce(Config(1), 8, 1, {.legal = 0b11100, .gumbel_scale = 0}, flat);
  EXPECT_THAT(masked.visits, ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
}

TEST_P(SearchOfEachKind, BacksUpDiscountedReturns) {
  // One simulation: the root's value is the mean of its own and reward + discount * the child's.
  SearchConfig config = Config(1);
  config.discount = 0.5F;
  Search search(config, 1, 2);
  search.Start(0, -3, {0, 0}, {.legal = 0b10});
  std::vector<LatentStep> steps(1);
  search.Select({0}, absl::MakeSpan(steps));
  EXPECT_EQ(steps[0].parent, 0);
  EXPECT_EQ(steps[0].child, 1);
  EXPECT_EQ(steps[0].action, 1);
  std::vector<float> values = {-4};
  std::vector<float> rewards = {-0.25F};
  std::vector<float> logits = {0, 0};
  search.Backup({0}, {absl::MakeSpan(values), absl::MakeSpan(rewards), absl::MakeSpan(logits)});
  ASSERT_TRUE(search.Done(0));
  const SearchResult result = search.Result(0);
  EXPECT_EQ(result.q_values[1], -0.25F + 0.5F * -4);  // -2.25
  EXPECT_EQ(result.value, (-3 + -2.25F) / 2);         // -2.625
}

TEST_P(SearchOfEachKind, FindsAGameIndependentlyOfTheOthers) {
  constexpr uint32_t kGames = 60;
  Search search(Config(20), kGames, 3);
  HashModel model({}, search.slots(), 3);
  std::vector<float> roots;
  std::vector<RootOptions> options;
  for (uint32_t game = 0; game < kGames; ++game) {
    roots.push_back(static_cast<float>(game));
    options.push_back({.seed = game});
  }
  BatchedSearch(search, model).Run(Games(kGames), roots, options);
  for (uint32_t game = 0; game < kGames; ++game) {
    EXPECT_EQ(OutcomeOf(search, game), SearchOnce(Config(20), 3, game, {.seed = game}));
  }
}

TEST_P(SearchOfEachKind, StartsGamesWhileOthersAreInTheMiddle) {
  constexpr uint32_t kGames = 16;
  Search search(Config(10), kGames, 3);
  HashModel model({}, search.slots(), 3);
  BatchedSearch batched(search, model);
  const std::vector<uint32_t> games = Games(kGames);
  // A game starts every step; each is searched three times, from three roots.
  std::vector<uint32_t> searched(kGames);
  std::vector<uint32_t> playing;
  for (uint32_t step = 0; step < 200; ++step) {
    const uint32_t game = step % kGames;
    if (searched[game] < 3 && (searched[game] == 0 || search.Done(game))) {
      const uint32_t root = ++searched[game] * 100 + game;
      batched.EvaluateRoots({game}, {static_cast<float>(root)});
      batched.Begin(0, {.seed = root});
      if (searched[game] == 1) playing.push_back(game);
    }
    batched.Step(playing);
    for (const uint32_t other : playing) {
      if (!search.Done(other)) continue;
      const uint32_t root = searched[other] * 100 + other;
      EXPECT_EQ(OutcomeOf(search, other), SearchOnce(Config(10), 3, root, {.seed = root}));
    }
  }
  EXPECT_THAT(searched, Each(3));
}

TEST_P(SearchOfEachKind, SelectsTheSameStepsUntilTheyAreBackedUp) {
  Search search(Config(4), 2, 3);
  search.Start(0, 0, {1, 2, 3}, {});
  search.Start(1, 0, {3, 2, 1}, {});
  std::vector<LatentStep> steps(2);
  std::vector<LatentStep> again(1);
  search.Select({0, 1}, absl::MakeSpan(steps));
  search.Select({1}, absl::MakeSpan(again));
  EXPECT_EQ(again[0].action, steps[1].action);
  EXPECT_EQ(again[0].parent, search.RootSlot(1));
  EXPECT_EQ(again[0].child, search.RootSlot(1) + 1);
}

TEST_P(SearchOfEachKind, GivesALegalActionWhateverTheNetworkSays) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, kInf, -kInf, 3e38F, -3e38F}) {
    Search search(Config(12), 1, 5);
    search.Start(0, bad, {bad, 0, bad, 1, bad}, {.legal = 0b11010});
    while (!search.Done(0)) {
      std::vector<LatentStep> steps(1);
      search.Select({0}, absl::MakeSpan(steps));
      ASSERT_LT(steps[0].action, 5);
      ASSERT_LT(steps[0].parent, steps[0].child);
      std::vector<float> one = {bad};
      std::vector<float> logits = {bad, bad, 0, bad, bad};
      search.Backup({0}, {absl::MakeSpan(one), absl::MakeSpan(one), absl::MakeSpan(logits)});
    }
    EXPECT_TRUE(0b11010U >> search.Result(0).action & 1U);
  }
}

// Numbers of nodes and visits exceed 16 bits. The options keep the tree bushy, so that paths are
// short.
TEST_P(SearchOfEachKind, CountsPastSixteenBits) {
  constexpr uint32_t kSimulations = 70'000;
  SearchConfig config = Config(kSimulations);
  config.value_scale = 0;
  config.pb_c_init = 1000;
  Search search(config, 2, 2);
  HashModel model({.logit_scale = 0}, search.slots(), 2);
  BatchedSearch(search, model).Run({1}, {9}, {RootOptions{}});
  EXPECT_EQ(search.RootSlot(1), kSimulations + 1);
  EXPECT_EQ(search.Node(1, 0).visits, kSimulations + 1);
  const SearchResult result = search.Result(1);
  EXPECT_EQ(result.visits[0] + result.visits[1], kSimulations);
  for (uint32_t n = 1; n <= kSimulations; ++n) ASSERT_LT(search.Node(1, n).parent, n);
}

TEST(GumbelSearch, VisitsAsManyActionsAsItMayConsider) {
  const Outcome outcome =
      SearchOnce({.simulations = 8, .max_considered_actions = 4}, 8, 2, {.seed = 4});
  // 8 / (2 phases * 4) = 1 visit each, then 8 / (2 * 2) = 2 for each of two.
  std::vector<uint32_t> visits = outcome.visits;
  std::sort(visits.begin(), visits.end());
  EXPECT_THAT(visits, ElementsAre(0, 0, 0, 0, 1, 1, 3, 3));
}

// Both actions are tried once, with q = 0 and 0.001. Rescaled by their range these are 0 and 1,
// with the weight (50 + 1) * 0.1 = 5.1, so the better action has the policy 1 / (1 + exp(-5.1)) =
// 0.994. With a floor of 0.01 they are 0 and 0.1, which gives 1 / (1 + exp(-0.51)) = 0.625.
TEST(GumbelSearch, DoesNotBlowUpDifferencesBelowTheValueFloor) {
  for (const auto& [floor, expected] : {std::pair(0.0F, 0.9939F), std::pair(0.01F, 0.6248F)}) {
    Search search({.simulations = 2, .value_floor = floor}, 1, 2);
    search.Start(0, 0.0005F, {0, 0}, {.gumbel_scale = 0});
    for (int k = 0; k < 2; ++k) {
      std::vector<LatentStep> steps(1);
      search.Select({0}, absl::MakeSpan(steps));
      std::vector<float> value = {steps[0].action == 1 ? 0.001F : 0.0F};
      std::vector<float> reward = {0};
      std::vector<float> logits = {0, 0};
      search.Backup({0}, {absl::MakeSpan(value), absl::MakeSpan(reward), absl::MakeSpan(logits)});
    }
    EXPECT_NEAR(search.Result(0).policy[1], expected, 1e-4);
  }
}

// The action of the next simulation of game 0, which is backed up with this value.
uint32_t Simulate(Search& search, float value) {
  std::vector<LatentStep> steps(1);
  search.Select({0}, absl::MakeSpan(steps));
  std::vector<float> reward = {0}, logits = {0, 0};
  search.Backup({0}, {absl::MakeSpan(&value, 1), absl::MakeSpan(reward), absl::MakeSpan(logits)});
  return steps[0].action;
}

TEST(GumbelSearch, VisitsAnActionThatTheNetworkRulesOut) {
  Search search({.simulations = 2}, 1, 2);
  search.Start(0, 0, {0, -std::numeric_limits<float>::infinity()}, {.gumbel_scale = 0});
  EXPECT_EQ(Simulate(search, 0), 0);
  EXPECT_EQ(Simulate(search, 0), 1);  // the only one without a visit
}

TEST(GumbelSearch, ScalesItsNoise) {
  const std::vector<float> gumbel = {0, 1};
  for (const auto& [scale, expected] : {std::pair(0.5F, 0U), std::pair(0.7F, 1U)}) {
    Search search({.simulations = 2}, 1, 2);
    // The scores are 0.6 and the noise.
    search.Start(0, 0, {0.6F, 0}, {.gumbel_scale = scale, .gumbel = gumbel});
    EXPECT_EQ(Simulate(search, 0), expected);
  }
}

TEST(PuctSearch, ScalesTheShareOfDirichletNoise) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Search search({.kind = Kind::kPuct, .simulations = 1, .dirichlet_fraction = 1}, 1, 2);
    search.Start(0, 0, {std::log(0.9F), std::log(0.1F)}, {.gumbel_scale = 0.5F, .seed = seed});
    // Before the first simulation the policy is the prior, of which at least half stays.
    EXPECT_GE(search.Result(0).policy[0], 0.5F * 0.9F - 1e-5F);
    EXPECT_LE(search.Result(0).policy[0], 1 - 0.5F * 0.1F + 1e-5F);
  }
}

// The bonus of a prior p is sqrt(n) ln(n + base + 1) p / (visits + 1) with the base 1, where n is 2
// after one simulation. It has returned 0.62, so that the root is worth 0.31: action 0 has the
// score 0.31 + 1.96 x 0.55 / 2 = 0.85, and action 1 has 1.96 x 0.45 = 0.88.
TEST(PuctSearch, ExploresByTheVisitsOfTheNode) {
  Search search({.kind = Kind::kPuct,
                 .simulations = 2,
                 .value_floor = 1,
                 .pb_c_init = 0,
                 .pb_c_base = 1,
                 .dirichlet_fraction = 0},
                1, 2);
  search.Start(0, 0, {std::log(0.55F), std::log(0.45F)}, {.gumbel_scale = 0});
  EXPECT_EQ(Simulate(search, 0.62F), 0);
  EXPECT_EQ(Simulate(search, 0), 1);
}

// Temperature 1 and no other noise: an action is taken as often as it was visited.
TEST(PuctSearch, DrawsActionsInProportionToVisits) {
  SearchConfig config = {.kind = Kind::kPuct, .simulations = 20, .dirichlet_fraction = 0};
  std::vector<uint32_t> taken(3);
  std::vector<float> policy;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const Outcome outcome = SearchOnce(config, 3, 6, {.seed = seed});
    ++taken[outcome.action];
    policy = outcome.policy;
  }
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(taken[a] / 4000.0, policy[a], 0.03);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome cold = SearchOnce(config, 3, 6, {.temperature = 0, .seed = seed});
    EXPECT_EQ(cold.visits[cold.action], *std::max_element(cold.visits.begin(), cold.visits.end()));
  }
}

TEST(CheckSearch, RefusesWhatCannotBe) {
  EXPECT_TRUE(CheckSearch({}, 1, 3).ok());
  EXPECT_TRUE(CheckSearch({.kind = Kind::kPuct}, 1, 32).ok());
  const auto refused = [](const SearchConfig& config, uint32_t games = 1, uint32_t actions = 3) {
    return std::string(CheckSearch(config, games, actions).message());
  };
  EXPECT_THAT(refused({.simulations = 0}), HasSubstr("simulations"));
  EXPECT_THAT(refused({.simulations = (1U << 24) + 1}), HasSubstr("simulations"));
  EXPECT_THAT(refused({}, 0), HasSubstr("games"));
  EXPECT_THAT(refused({}, 1, 0), HasSubstr("actions"));
  EXPECT_THAT(refused({}, 1, 33), HasSubstr("actions"));
  EXPECT_THAT(refused({.discount = 1.5F}), HasSubstr("discount"));
  EXPECT_THAT(refused({.value_floor = -1}), HasSubstr("value_floor"));
  EXPECT_THAT(refused({.max_considered_actions = 0}), HasSubstr("max_considered_actions"));
  EXPECT_THAT(refused({.value_scale = NAN}), HasSubstr("value_scale"));
  EXPECT_THAT(refused({.kind = Kind::kPuct, .pb_c_base = 0}), HasSubstr("pb_c_base"));
  EXPECT_THAT(refused({.kind = Kind::kPuct, .dirichlet_alpha = 0}), HasSubstr("dirichlet_alpha"));
  EXPECT_THAT(refused({.kind = Kind::kPuct, .dirichlet_fraction = 2}),
              HasSubstr("dirichlet_fraction"));
}

// (2^16 - 1) * (65536 + 1) = 2^32 - 1 is the largest number of slots that 32 bits can hold.
TEST(CheckSearch, KeepsSlotsWithinThirtyTwoBits) {
  EXPECT_TRUE(CheckSearch({.simulations = 65536}, 65535, 3).ok());
  EXPECT_THAT(std::string(CheckSearch({.simulations = 65535}, 65536, 3).message()),
              HasSubstr("games * (simulations + 1)"));
}

TEST(BatchedSearch, CountsBatchesByTheirSize) {
  Search search({.simulations = 4}, 20, 3);
  HashModel model({}, search.slots(), 3);
  BatchedSearch batched(search, model);
  const std::vector<float> roots(20);
  const std::vector<RootOptions> options(20);
  batched.Run(Games(20), roots, options);
  batched.Run({3}, {1}, {RootOptions{}});
  // There are four batches of 20, which is in [16, 32), and four of 1.
  const BatchedSearchStats& stats = batched.stats();
  EXPECT_EQ(stats.step_batches.buckets()[4], 4);
  EXPECT_EQ(stats.step_batches.buckets()[0], 4);
  EXPECT_EQ(stats.step_batches.batches(), 8);
  EXPECT_EQ(stats.step_batches.rows(), 84);
  EXPECT_EQ(stats.root_batches.buckets()[4], 1);
  EXPECT_EQ(stats.root_batches.buckets()[0], 1);
  EXPECT_FALSE(batched.Step(Games(20)));
  EXPECT_EQ(stats.step_batches.batches(), 8);
  batched.ResetStats();
  EXPECT_EQ(stats.step_batches.rows(), 0);
}

}  // namespace
}  // namespace mallocmuzero
