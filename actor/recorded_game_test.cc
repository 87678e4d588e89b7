#include "env/recorded_game.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "actor/game_recorder.h"
#include "env/game.h"
#include "env/players.h"
#include "env/recorded_incumbent.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

// Provides a program with a few decisions and a recorded game of it.
class RecordedGame : public ::testing::Test {
 protected:
  RecordedGame() {
    std::mt19937_64 random(5);
    while (program_ == nullptr || program_->decisions() < 3) {
      program_ = PlayedProgram::Create(testing::RandomGameProgram(random));
    }
    std::vector<Action> actions;
    Player player(PlayerKind::kRandom, 1);
    player.StartGame();
    for (Game game(program_->rules()); !game.finished();) {
      actions.push_back(player.Choose(game));
      game.Apply(actions.back());
    }
    game_ = *Demonstrate(*program_, TrajectoryId(1, 2, 3), actions);
  }

  std::string Error(const std::function<void(v1::Trajectory&)>& change) const {
    v1::Trajectory changed = game_;
    change(changed);
    return std::string(CheckRecordedGame(*program_, changed).message());
  }

  std::unique_ptr<PlayedProgram> program_;
  v1::Trajectory game_;
};

TEST_F(RecordedGame, IsAcceptedAsItWasPlayed) {
  EXPECT_EQ(CheckRecordedGame(*program_, game_), absl::OkStatus());
}

TEST_F(RecordedGame, ItsActionsPlayItAgain) {
  std::vector<Action> actions = ActionsOf(game_.actions());
  EXPECT_EQ(BytesOf(actions), game_.actions());
  const std::optional<Game> again = PlayWhole(program_->rules(), actions);
  ASSERT_TRUE(again.has_value());
  EXPECT_NEAR(again->total_return(), TotalReturn(game_).share(), 1e-12);
  const Action last = actions.back();
  actions.back() = static_cast<Action>(77);
  EXPECT_FALSE(PlayWhole(program_->rules(), actions).has_value());
  actions.pop_back();
  EXPECT_FALSE(PlayWhole(program_->rules(), actions).has_value());
  actions.insert(actions.end(), {last, last});
  EXPECT_FALSE(PlayWhole(program_->rules(), actions).has_value());
}

TEST_F(RecordedGame, IsRefusedWithTheFieldThatIsWrong) {
  EXPECT_THAT(Error([](auto& t) { t.set_program_sha256("other"); }), HasSubstr("program_sha256"));
  EXPECT_THAT(Error([](auto& t) { t.set_rules_version(t.rules_version() + 1); }),
              HasSubstr("rules_version"));
  EXPECT_THAT(Error([](auto& t) { t.set_id("short"); }), HasSubstr("id"));
  EXPECT_THAT(Error([](auto& t) { t = v1::Trajectory(); }), HasSubstr("program_sha256"));
  EXPECT_THAT(Error([](auto& t) { t.clear_accesses(); }), HasSubstr("accesses"));
  EXPECT_THAT(Error([](auto& t) { t.mutable_actions()->pop_back(); }), HasSubstr("as many as"));
  EXPECT_THAT(Error([](auto& t) { t.mutable_policies()->RemoveLast(); }), HasSubstr("as many as"));
  EXPECT_THAT(Error([](auto& t) { t.set_rewards(0, 1.0 / 0.0); }), HasSubstr("rewards"));
  EXPECT_THAT(Error([](auto& t) { t.set_policies(0, -1); }), HasSubstr("policies"));
  EXPECT_THAT(Error([](auto& t) { (*t.mutable_actions())[0] = 77; }), HasSubstr("actions[0]"));
  EXPECT_THAT(Error([](auto& t) { t.set_accesses(1, t.accesses(1) + 1); }),
              HasSubstr("actions[1]"));
  EXPECT_THAT(Error([](auto& t) { t.set_rewards(0, t.rewards(0) + 1e-3); }),
              HasSubstr("rewards[0]"));
  EXPECT_THAT(Error([](auto& t) { t.set_initial_return(t.initial_return() + 1e-3); }),
              HasSubstr("initial_return"));
  EXPECT_EQ(Error([](auto& t) { t.mutable_window()->set_end(t.accesses_size()); }), "");
  EXPECT_THAT(Error([](auto& t) { t.mutable_window(); }), HasSubstr("window"));
  EXPECT_THAT(Error([](auto& t) { t.mutable_window()->set_end(t.accesses_size() + 1); }),
              HasSubstr("window"));
  // Their sum is right, but each of them would be learned from.
  EXPECT_THAT(Error([](auto& t) {
                t.set_rewards(0, t.rewards(0) + 1e5);
                t.set_rewards(1, t.rewards(1) - 1e5);
              }),
              HasSubstr("rewards[0]"));
}

TEST_F(RecordedGame, MustNotLeadToTargetsThatAreNoNumbers) {
  const auto searched = [](float root_value, float searched_return) {
    return [=](v1::Trajectory& t) {
      t.set_root_values(0, root_value);
      t.mutable_searched_returns()->Resize(t.accesses_size(), 0);
      t.set_searched_returns(0, searched_return);
    };
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Error(searched(0.5F, 0.1F)), "");
  EXPECT_EQ(Error(searched(kNan, kNan)), "");
  // The learner takes the return of each decision that was searched.
  EXPECT_THAT(Error(searched(0.5F, kNan)), HasSubstr("searched_returns"));
  // Divided by a small deviation of returns, it is infinite as a float32.
  EXPECT_THAT(Error(searched(0.5F, 3e38F)), HasSubstr("searched_returns"));
  EXPECT_THAT(Error(searched(0.5F, -1.0F / 0.0F)), HasSubstr("searched_returns"));
  EXPECT_THAT(Error(searched(-3e38F, 0.1F)), HasSubstr("root_values"));
  EXPECT_THAT(Error(searched(1.0F / 0.0F, 0.1F)), HasSubstr("root_values"));
}

TEST_F(RecordedGame, ItsIncumbentMustBeOfTheProgramAndHaveALeadForEachDecision) {
  const uint32_t accesses = program_->rules().access_count();
  game_.mutable_incumbent()->set_in_fast_memory(std::string(FastMemoryBytes(accesses), '\0'));
  game_.mutable_incumbent()->set_window_end(accesses);
  game_.mutable_incumbent()->mutable_leads()->Resize(game_.accesses_size(), 0.5F);
  EXPECT_EQ(CheckRecordedGame(*program_, game_), absl::OkStatus());
  const auto error = [&](const std::function<void(v1::Trajectory::Incumbent&)>& change) {
    return Error([&](v1::Trajectory& t) { change(*t.mutable_incumbent()); });
  };
  EXPECT_THAT(error([](auto& i) { i.mutable_in_fast_memory()->push_back(0); }),
              HasSubstr("incumbent.in_fast_memory"));
  EXPECT_THAT(error([](auto& i) { i.clear_in_fast_memory(); }),
              HasSubstr("incumbent.in_fast_memory"));
  EXPECT_THAT(error([](auto& i) { i.add_leads(0); }), HasSubstr("incumbent.leads"));
  EXPECT_THAT(error([](auto& i) { i.clear_leads(); }), HasSubstr("incumbent.leads"));
  EXPECT_THAT(error([](auto& i) { i.set_leads(1, 1.0F / 0.0F); }), HasSubstr("incumbent.leads"));
  EXPECT_THAT(error([&](auto& i) { i.set_window_end(accesses + 1); }),
              HasSubstr("incumbent.window_end"));
}

TEST_F(RecordedGame, MustBeWhole) {
  EXPECT_THAT(Error([](auto& t) {
                t.mutable_actions()->pop_back();
                t.mutable_legal_actions()->pop_back();
                t.mutable_accesses()->RemoveLast();
                t.mutable_rewards()->RemoveLast();
                t.mutable_root_values()->RemoveLast();
                for (int a = 0; a < kActionCount; ++a) t.mutable_policies()->RemoveLast();
              }),
              HasSubstr("a whole game"));
}

}  // namespace
}  // namespace mallocmuzero
