// The search alone, one core: a network that costs next to nothing, hidden state of one float, so
// that nothing but the trees is measured. Items are simulations.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "benchmark/benchmark.h"
#include "model/latent_model.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kActions = 3;

// A number in [0, 1) that every step moves on.
class TrivialModel final : public LatentModel {
 public:
  explicit TrivialModel(uint32_t slots) : states_(slots) {}

  uint32_t slots() const override { return static_cast<uint32_t>(states_.size()); }
  uint32_t actions() const override { return kActions; }
  uint32_t observation_size() const override { return 1; }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    for (size_t i = 0; i < roots.size(); ++i) {
      states_[roots[i]] = observations[i];
      Evaluate(observations[i], i, out);
    }
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto action = static_cast<float>(static_cast<int32_t>(steps[i].action));
      float x = states_[steps[i].parent] * 1.7F + action * 0.37F + 0.11F;
      x -= static_cast<float>(static_cast<int32_t>(x));
      states_[steps[i].child] = x;
      Evaluate(x, i, out);
    }
  }

 private:
  static void Evaluate(float x, size_t row, const Evaluations& out) {
    out.values[row] = x;
    out.rewards[row] = x * 0.1F;
    float* const logits = out.logits.data() + row * kActions;
    logits[0] = x;
    logits[1] = 1 - x;
    logits[2] = x * x;
  }

  std::vector<float> states_;
};

void SearchTrees(benchmark::State& state, SearchConfig::Kind kind) {
  const auto games = static_cast<uint32_t>(state.range(0));
  const auto simulations = static_cast<uint32_t>(state.range(1));
  Search search({.kind = kind, .simulations = simulations, .discount = 0.997F}, games, kActions);
  TrivialModel model(search.slots());
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
