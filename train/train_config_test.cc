#include "train/train_config.h"

#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

TEST(TrainConfig, DefaultsAreValidForEverySize) {
  for (const char* size : {"tiny", "small", "base"}) {
    const absl::StatusOr<v1::TrainConfig> config = DefaultTrainConfig(size);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(CheckTrainConfig(*config).ok()) << CheckTrainConfig(*config);
  }
  EXPECT_FALSE(DefaultTrainConfig("huge").ok());
}

TEST(TrainConfig, NamesTheFieldThatIsWrong) {
  const struct {
    const char* field;
    std::function<void(v1::TrainConfig&)> spoil;
  } cases[] = {
      {"search.kind", [](v1::TrainConfig& c) { c.mutable_search()->clear_kind(); }},
      {"search: kind is 7, not GUMBEL or PUCT",
       [](v1::TrainConfig& c) {
         c.mutable_search()->set_kind(static_cast<v1::SearchOptions::Kind>(7));
       }},
      {"self_play.explored_decisions",
       [](v1::TrainConfig& c) {
         c.mutable_self_play()->set_explored_decisions(std::numeric_limits<float>::infinity());
       }},
      {"search: simulations is 99999999, not in [1, 2^24]",
       [](v1::TrainConfig& c) { c.mutable_search()->set_simulations(99'999'999); }},
      {"self_play.threads: 1025 given, 0 to 1024 expected",
       [](v1::TrainConfig& c) { c.mutable_self_play()->set_threads(1025); }},
      {"value_floor", [](v1::TrainConfig& c) { c.mutable_search()->set_value_floor(-1); }},
      {"self_play.games_per_iteration",
       [](v1::TrainConfig& c) { c.mutable_self_play()->set_games_per_iteration(0); }},
      {"self_play.searched_share",
       [](v1::TrainConfig& c) { c.mutable_self_play()->set_searched_share(2); }},
      {"self_play.window_share",
       [](v1::TrainConfig& c) { c.mutable_self_play()->set_window_share(-1); }},
      {"replay.max_decisions",
       [](v1::TrainConfig& c) { c.mutable_replay()->set_max_decisions(0); }},
      {"replay.max_decisions: 4294967296 given, 1 to 134217728 expected",
       [](v1::TrainConfig& c) { c.mutable_replay()->set_max_decisions(uint64_t{1} << 32); }},
      {"learner.batch_size", [](v1::TrainConfig& c) { c.mutable_learner()->set_batch_size(0); }},
      {"learner.batch_size",
       [](v1::TrainConfig& c) { c.mutable_learner()->set_batch_size(4294967295); }},
      {"learner.td_steps",
       [](v1::TrainConfig& c) { c.mutable_learner()->set_td_steps(2147483647); }},
      {"learner.samples_per_insert: inf given, 1e-06 to 1000000 expected",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_samples_per_insert(std::numeric_limits<float>::infinity());
       }},
      {"learner.weight_decay",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_weight_decay(std::numeric_limits<float>::quiet_NaN());
       }},
      {"demonstration_seconds: 86401 given, 0 to 86400 expected",
       [](v1::TrainConfig& c) { c.set_demonstration_seconds(86401); }},
      {"demonstration_seconds", [](v1::TrainConfig& c) { c.set_demonstration_seconds(-1); }},
      {"checkpoint_iterations", [](v1::TrainConfig& c) { c.set_checkpoint_iterations(0); }},
      {"latent", [](v1::TrainConfig& c) { c.mutable_network()->set_latent(0); }},
      {"actions", [](v1::TrainConfig& c) { c.mutable_network()->set_actions(1); }},
      {"learner.consistency_weight",
       [](v1::TrainConfig& c) { c.mutable_learner()->set_consistency_weight(-1); }},
      {"learner.value_target",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_value_target(static_cast<v1::LearnerOptions::ValueTarget>(9));
       }},
      {"learner.ranked_quantile",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_value_target(v1::LearnerOptions::RANKED);
         c.mutable_learner()->set_ranked_quantile(1);
       }},
      {"network.resolution: 4 or more",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_value_target(v1::LearnerOptions::RANKED);
       }},
      {"network.limit",
       [](v1::TrainConfig& c) {
         c.mutable_learner()->set_value_target(v1::LearnerOptions::RANKED);
         c.mutable_network()->set_resolution(10);
         c.mutable_network()->set_limit(0.05F);
       }},
  };
  for (const auto& test : cases) {
    v1::TrainConfig config = *DefaultTrainConfig("tiny");
    test.spoil(config);
    EXPECT_THAT(CheckTrainConfig(config).message(), HasSubstr(test.field));
  }
}

}  // namespace
}  // namespace mallocmuzero
