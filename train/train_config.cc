#include "train/train_config.h"

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "actor/self_play.h"
#include "base/check_field.h"
#include "base/status_macros.h"
#include "base/thread_count.h"
#include "learner/learner.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

void SetSelfPlay(v1::SelfPlayOptions& self_play) {
  self_play.set_games_per_iteration(64);
  self_play.set_explored_decisions(4);
  self_play.set_searched_share(0.25F);
  self_play.set_reanalysed_share(0.1F);
  self_play.set_window_share(0.9F);
}

void SetReplay(v1::ReplayOptions& replay) {
  replay.set_max_decisions(200'000);
  replay.set_max_bytes(uint64_t{256} << 20);
  replay.set_best_games(1);
  replay.set_priority_exponent(0.6F);
  replay.set_importance_exponent(0.4F);
}

void SetLearner(v1::LearnerOptions& learner) {
  learner.set_batch_size(256);
  learner.set_unroll_steps(5);
  learner.set_samples_per_insert(1);
  learner.set_best_share(0.4F);
  learner.set_cut_at_exploration(true);
  learner.set_learning_rate(1e-3F);
  learner.set_weight_decay(1e-4F);
  learner.set_warmup_updates(100);
  learner.set_max_gradient_norm(5);
  learner.set_value_weight(0.5F);
  learner.set_reward_weight(0.5F);
  learner.set_value_target(v1::LearnerOptions::RELATIVE);
  learner.set_ranked_quantile(0.75F);
}

constexpr double kMostUint32 = std::numeric_limits<uint32_t>::max();

constexpr FieldRange kSelfPlayRanges[] = {
    {"games_per_iteration", 1, 65536}, {"explored_decisions", 0, 1e6}, {"searched_share", 0, 1},
    {"reanalysed_share", 0, 1},        {"threads", 0, kMostThreads},   {"window_share", 0, 1}};

constexpr FieldRange kReplayRanges[] = {
    // Memory for the priorities is taken at the start, about 24 bytes for each decision: 3 GiB.
    {"max_decisions", 1, 1 << 27},
    {"max_bytes", 1, 1e18},
    {"best_games", 1, kMostUint32},
    {"priority_exponent", 0, 1},
    {"importance_exponent", 0, 1}};

constexpr FieldRange kRunRanges[] = {{"demonstration_seconds", 0, kMostDemonstrationSeconds},
                                     {"checkpoint_iterations", 1, kMostUint32},
                                     {"evaluation_iterations", 1, kMostUint32}};

}  // namespace

v1::SearchOptions DefaultSearchOptions() {
  v1::SearchOptions search;
  search.set_kind(v1::SearchOptions::GUMBEL);
  search.set_simulations(16);
  search.set_max_considered_actions(16);
  search.set_maxvisit_init(50);
  search.set_value_scale(0.1F);
  search.set_value_floor(1);
  return search;
}

absl::StatusOr<v1::TrainConfig> DefaultTrainConfig(absl::string_view network_size) {
  const absl::StatusOr<v1::NetworkConfig> network = NetworkPreset(network_size);
  if (!network.ok()) return network.status();
  v1::TrainConfig config;
  *config.mutable_network() = *network;
  *config.mutable_search() = DefaultSearchOptions();
  SetSelfPlay(*config.mutable_self_play());
  SetReplay(*config.mutable_replay());
  SetLearner(*config.mutable_learner());
  config.set_checkpoint_iterations(10);
  config.set_evaluation_iterations(5);
  return config;
}

absl::Status CheckTrainConfig(const v1::TrainConfig& config) {
  MMZ_RETURN_IF_ERROR(ValidateNetworkConfig(config.network()));
  MMZ_RETURN_IF_ERROR(CheckPlayable(config.network()));
  MMZ_RETURN_IF_ERROR(CheckField(config.search().kind() != v1::SearchOptions::KIND_UNSPECIFIED,
                                 "search.kind", "GUMBEL or PUCT"));
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(config.search());
  if (!search.ok()) return search.status();
  MMZ_RETURN_IF_ERROR(FirstWrong(OutOfRange(config.self_play(), kSelfPlayRanges), "self_play."));
  MMZ_RETURN_IF_ERROR(FirstWrong(OutOfRange(config.replay(), kReplayRanges), "replay."));
  MMZ_RETURN_IF_ERROR(CheckLearnerOptions(config.learner()));
  MMZ_RETURN_IF_ERROR(CheckValueTarget(config.learner(), config.network()));
  return FirstWrong(OutOfRange(config, kRunRanges), "");
}

}  // namespace mallocmuzero
