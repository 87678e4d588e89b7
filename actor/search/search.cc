#include "actor/search/search.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_format.h"
#include "actor/search/gumbel_rule.h"
#include "actor/search/noise.h"
#include "actor/search/puct_rule.h"
#include "actor/search/search_arena.h"
#include "actor/search/search_trees.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kMaxSimulations = 1U << 24;  // visits are counted in floats

absl::Status Refuse(absl::string_view field, double value, absl::string_view want) {
  return absl::InvalidArgumentError(
      absl::StrFormat("search: %s is %.10g, not %s", field, value, want));
}

absl::Status CheckPuct(const SearchConfig& config) {
  if (!std::isfinite(config.pb_c_init)) {
    return Refuse("pb_c_init", config.pb_c_init, "finite");
  }
  if (!(config.pb_c_base > 0) || !std::isfinite(config.pb_c_base)) {
    return Refuse("pb_c_base", config.pb_c_base, "positive");
  }
  if (!(config.dirichlet_alpha > 0) || !std::isfinite(config.dirichlet_alpha)) {
    return Refuse("dirichlet_alpha", config.dirichlet_alpha, "positive");
  }
  if (!(config.dirichlet_fraction >= 0 && config.dirichlet_fraction <= 1)) {
    return Refuse("dirichlet_fraction", config.dirichlet_fraction, "in [0, 1]");
  }
  return absl::OkStatus();
}

absl::Status CheckGumbel(const SearchConfig& config) {
  if (config.max_considered_actions == 0) return Refuse("max_considered_actions", 0, "positive");
  if (!(config.maxvisit_init >= 0) || !std::isfinite(config.maxvisit_init)) {
    return Refuse("maxvisit_init", config.maxvisit_init, "0 or more");
  }
  if (!(config.value_scale >= 0) || !std::isfinite(config.value_scale)) {
    return Refuse("value_scale", config.value_scale, "0 or more");
  }
  return absl::OkStatus();
}

template <int kActions, int kMaxActions>
std::unique_ptr<SearchTrees> MakeTrees(const SearchConfig& config, uint32_t games,
                                       uint32_t actions) {
  using Actions = ActionCount<kActions, kMaxActions>;
  if (config.kind == SearchConfig::Kind::kPuct) {
    return std::make_unique<SearchArena<Actions, PuctRule>>(config, games, actions);
  }
  return std::make_unique<SearchArena<Actions, GumbelRule>>(config, games, actions);
}

// mallocGame has three actions.
std::unique_ptr<SearchTrees> MakeTreesOf(const SearchConfig& config, uint32_t games,
                                         uint32_t actions) {
  assert(CheckSearch(config, games, actions).ok());
  if (actions == 3) return MakeTrees<3, 4>(config, games, actions);
  if (actions <= 8) return MakeTrees<0, 8>(config, games, actions);
  return MakeTrees<0, kMaxSearchActions>(config, games, actions);
}

}  // namespace

absl::Status CheckSearch(const SearchConfig& config, uint32_t games, uint32_t actions) {
  if (config.simulations == 0 || config.simulations > kMaxSimulations) {
    return Refuse("simulations", config.simulations, "in [1, 2^24]");
  }
  if (actions == 0 || actions > kMaxSearchActions) return Refuse("actions", actions, "in [1, 32]");
  const uint64_t slots = uint64_t{games} * (config.simulations + 1);
  if (games == 0 || slots > std::numeric_limits<uint32_t>::max()) {
    return Refuse("games * (simulations + 1)", static_cast<double>(slots), "in [1, 2^32)");
  }
  if (!(config.discount >= 0 && config.discount <= 1)) {
    return Refuse("discount", config.discount, "in [0, 1]");
  }
  if (!(config.value_floor >= 0) || !std::isfinite(config.value_floor)) {
    return Refuse("value_floor", config.value_floor, "0 or more");
  }
  return config.kind == SearchConfig::Kind::kPuct ? CheckPuct(config) : CheckGumbel(config);
}

Search::Search(const SearchConfig& config, uint32_t games, uint32_t actions)
    : config_(config),
      games_(games),
      actions_(actions),
      trees_(MakeTreesOf(config, games, actions)) {}

Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

void Search::Start(uint32_t game, float value, absl::Span<const float> logits,
                   const RootOptions& options) {
  std::array<float, kMaxSearchActions> gumbel{};
  std::array<float, kMaxSearchActions> prior{};
  assert(logits.size() == actions_);
  assert(options.gumbel.empty() || options.gumbel.size() == actions_);
  std::copy(logits.begin(), logits.end(), prior.begin());
  const absl::Span<float> prior_span(prior.data(), actions_);
  if (options.gumbel_scale != 0) {
    NoiseStream noise(options.seed);
    for (uint32_t a = 0; a < actions_; ++a) {
      const float drawn = options.gumbel.empty() ? noise.Gumbel() : options.gumbel[a];
      gumbel[a] = options.gumbel_scale * drawn;
    }
    const float fraction = std::min(config_.dirichlet_fraction * options.gumbel_scale, 1.0F);
    if (config_.kind == SearchConfig::Kind::kPuct && fraction > 0) {
      noise.MixDirichlet(config_.dirichlet_alpha, fraction, prior_span);
    }
  }
  trees_->Start(game, value, prior_span, absl::MakeConstSpan(gumbel.data(), actions_), options);
}

void Search::Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps) {
  assert(steps.size() >= games.size());
  trees_->Select(games, steps);
}

void Search::Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations) {
  assert(evaluations.values.size() >= games.size());
  trees_->Backup(games, evaluations);
}

uint32_t Search::simulations_done(uint32_t game) const { return trees_->SimulationsDone(game); }

SearchResult Search::Result(uint32_t game) { return trees_->Result(game); }

SearchNode Search::Node(uint32_t game, uint32_t node) const { return trees_->NodeAt(game, node); }

}  // namespace mallocmuzero
