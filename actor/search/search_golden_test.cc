// Compares search trees with those of mctx, which testdata/make_golden.py has recorded.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "actor/search/testing/hash_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace mallocmuzero {
namespace {

using nlohmann::json;
using ::testing::FloatNear;
using testing::HashModel;
using testing::HashModelOptions;
using ::testing::Pointwise;

// Results differ slightly, because mctx adds numbers in another order.
constexpr float kTolerance = 2e-5F;

json Golden() {
  std::ifstream file(
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/actor/search/testdata/mctx_golden.json"));
  return json::parse(file);
}

SearchConfig ConfigOf(const json& config) {
  return {
      .kind = config["kind"] == "puct" ? SearchConfig::Kind::kPuct : SearchConfig::Kind::kGumbel,
      .simulations = config["simulations"],
      .discount = config["discount"],
      .value_floor = config["value_floor"],
      .max_considered_actions = config["max_considered_actions"],
      .maxvisit_init = config["maxvisit_init"],
      .value_scale = config["value_scale"],
      .dirichlet_fraction = 0};
}

HashModelOptions ModelOf(const json& model) {
  return {.bits = model["bits"],
          .value_scale = model["value_scale"],
          .reward_scale = model["reward_scale"],
          .reward_offset = model["reward_offset"],
          .logit_scale = model["logit_scale"]};
}

// Searches all roots of one configuration together.
struct GoldenRun {
  explicit GoldenRun(const json& golden)
      : search(ConfigOf(golden["config"]), golden["cases"].size(), golden["config"]["actions"]),
        model(ModelOf(golden["config"]["model"]), search.slots(), search.actions()) {
    std::vector<std::vector<float>> gumbel;
    std::vector<float> roots;
    std::vector<RootOptions> options;
    std::vector<uint32_t> games;
    for (const json& one : golden["cases"]) gumbel.push_back(one["gumbel"]);
    for (const json& one : golden["cases"]) {
      games.push_back(games.size());
      roots.push_back(one["root"]);
      options.push_back({.legal = one["legal"],
                         .gumbel_scale = golden["config"]["gumbel_scale"],
                         .temperature = golden["config"]["temperature"],
                         .gumbel = gumbel[options.size()]});
    }
    BatchedSearch(search, model).Run(games, roots, options);
  }

  Search search;
  HashModel model;
};

void ExpectTree(const Search& search, uint32_t game, const json& expected) {
  std::vector<uint32_t> parents;
  std::vector<uint32_t> actions;
  std::vector<uint32_t> visits;
  std::vector<float> values;
  for (uint32_t n = 0; n <= search.simulations_done(game); ++n) {
    const SearchNode node = search.Node(game, n);
    if (n > 0) parents.push_back(node.parent);
    if (n > 0) actions.push_back(node.action);
    visits.push_back(node.visits);
    values.push_back(node.value);
  }
  EXPECT_EQ(parents, expected["parents"].get<std::vector<uint32_t>>());
  EXPECT_EQ(actions, expected["actions"].get<std::vector<uint32_t>>());
  EXPECT_EQ(visits, expected["visits"].get<std::vector<uint32_t>>());
  EXPECT_THAT(values,
              Pointwise(FloatNear(kTolerance), expected["values"].get<std::vector<float>>()));
}

TEST(SearchGolden, FindsTheTreesOfMctx) {
  const json golden = Golden();
  uint32_t trees = 0;
  for (const json& searches : golden["searches"]) {
    GoldenRun run(searches);
    for (uint32_t game = 0; game < run.search.games(); ++game, ++trees) {
      const json& expected = searches["cases"][game];
      SCOPED_TRACE(absl::StrCat(searches["config"].dump(), " case ", game));
      ExpectTree(run.search, game, expected);
      const SearchResult result = run.search.Result(game);
      EXPECT_EQ(result.action, expected["action"].get<uint32_t>());
      EXPECT_FLOAT_EQ(result.value, run.search.Node(game, 0).value);
      EXPECT_THAT(result.policy,
                  Pointwise(FloatNear(kTolerance), expected["weights"].get<std::vector<float>>()));
      EXPECT_THAT(result.visits, ::testing::ElementsAreArray(
                                     expected["root_visits"].get<std::vector<uint32_t>>()));
    }
  }
  EXPECT_GE(trees, 100);
}

}  // namespace
}  // namespace mallocmuzero
