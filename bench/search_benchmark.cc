// Measures the search alone on one core. The network costs next to nothing and its hidden state is
// one float, so that only the trees are measured. Items are simulations.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "actor/search/trivial_model.h"
#include "benchmark/benchmark.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kActions = 3;

void SearchTrees(benchmark::State& state, SearchConfig::Kind kind) {
  const uint32_t games = state.range(0);
  const uint32_t simulations = state.range(1);
  Search search({.kind = kind, .simulations = simulations, .discount = 0.997F}, games, kActions);
  TrivialModel model(search.slots(), kActions);
  BatchedSearch batched(search, model);
  std::vector<uint32_t> all(games);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> roots(games);
  std::vector<RootOptions> options(games);
  uint64_t seed = 0;
  for (auto _ : state) {
    for (uint32_t game = 0; game < games; ++game) {
      options[game].seed = ++seed;
      roots[game] = std::fmod(static_cast<float>(seed % 4096) * 0.618F, 1.0F);
    }
    batched.Run(all, roots, options);
    for (const uint32_t game : all) benchmark::DoNotOptimize(search.Result(game).action);
  }
  state.SetItemsProcessed(state.iterations() * games * simulations);
}

void GumbelTrees(benchmark::State& state) { SearchTrees(state, SearchConfig::Kind::kGumbel); }
BENCHMARK(GumbelTrees)
    ->ArgNames({"games", "simulations"})
    ->ArgsProduct({{1, 16, 128, 512}, {16, 32}})
    ->Unit(benchmark::kMicrosecond);

void PuctTrees(benchmark::State& state) { SearchTrees(state, SearchConfig::Kind::kPuct); }
BENCHMARK(PuctTrees)
    ->ArgNames({"games", "simulations"})
    ->ArgsProduct({{128, 512}, {32}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mallocmuzero
