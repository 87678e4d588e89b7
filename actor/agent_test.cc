#include "actor/agent.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "env/game.h"
#include "env/program_set.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    std::mt19937_64 random(3);
    while (program_ == nullptr) {
      std::unique_ptr<PlayedProgram> program =
          PlayedProgram::Create(testing::RandomGameProgram(random));
      if (program->decisions() > 12) program_ = std::move(program);
    }
    const auto network = Network::Create(*NetworkPreset("tiny"), 1);
    network_ = OwnBatches(*(*network)->Snapshot({}));
    options_.search.simulations = 4;
  }

  double ReturnOf(const std::vector<Action>& actions) const {
    Game game(program_->rules());
    for (const Action action : actions) {
      EXPECT_TRUE(!game.finished() && game.IsLegal(action));
      game.Apply(action);
    }
    EXPECT_TRUE(game.finished());
    return game.total_return();
  }

  std::unique_ptr<PlayedProgram> program_;
  AgentNetwork network_;
  AgentOptions options_;
};

TEST_F(AgentTest, ReturnsDistinctGamesTheBestFirst) {
  options_.max_games = 72;
  const auto played = PlayAgent(*program_, network_, options_);
  ASSERT_TRUE(played.ok()) << played.status();
  EXPECT_EQ(played->played, 72);
  ASSERT_THAT(played->games, SizeIs(4));
  for (size_t i = 1; i < played->games.size(); ++i) {
    EXPECT_GE(ReturnOf(played->games[i - 1]), ReturnOf(played->games[i]));
    EXPECT_NE(played->games[i - 1], played->games[i]);
  }
}

TEST_F(AgentTest, PlaysOneRoundHoweverShortTheTime) {
  options_.deadline = absl::InfinitePast();
  EXPECT_EQ(PlayAgent(*program_, network_, options_)->played, 2);
}

TEST_F(AgentTest, TheSameSeedGivesTheSameGames) {
  options_.max_games = 20;
  const auto a = PlayAgent(*program_, network_, options_);
  const auto b = PlayAgent(*program_, network_, options_);
  EXPECT_EQ(a->games, b->games);
}

TEST_F(AgentTest, StopsWhenAsked) {
  options_.stop = [] { return true; };
  EXPECT_THAT(PlayAgent(*program_, network_, options_)->games, IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
