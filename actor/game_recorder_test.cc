#include "actor/game_recorder.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_set.h"
#include "env/recorded_game.h"
#include "env/recorded_incumbent.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::unique_ptr<PlayedProgram> SomeProgram(uint64_t seed = 3) {
  std::mt19937_64 random(seed);
  for (;;) {
    std::unique_ptr<PlayedProgram> program =
        PlayedProgram::Create(testing::RandomGameProgram(random));
    if (program->decisions() > 5) return program;
  }
}

Game GreedyGame(const PlayedProgram& program) {
  Game game(program.rules());
  while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
  return game;
}

TEST(GameRecorder, WritesDownWhatWasPlayed) {
  const std::unique_ptr<PlayedProgram> program = SomeProgram();
  GameRecorder recorder(*program, "id", v1::Trajectory::SELF_PLAY, 7);
  Game game(program->rules());
  recorder.Start(game);
  const float policy[] = {0.25F, 0.25F, 0.5F};
  std::vector<ActionSet> legal;
  while (!game.finished()) {
    legal.push_back(game.legal_actions());
    const bool searched = legal.size() % 2 == 1;
    const Action action = EagerAction(game.legal_actions());
    if (searched) {
      recorder.Apply(game, action, policy, NetworkValue(1.5));
    } else {
      recorder.Apply(game, action);
    }
  }
  const v1::Trajectory trajectory = std::move(recorder).Finish();
  ASSERT_EQ(trajectory.actions().size(), game.history().size());
  EXPECT_EQ(trajectory.program_sha256(), program->sha256());
  EXPECT_EQ(trajectory.network_step(), 7);
  EXPECT_NEAR(TotalReturn(trajectory).share(), game.total_return(), 1e-12);
  for (size_t d = 0; d < legal.size(); ++d) {
    EXPECT_EQ(trajectory.actions()[d], Underlying(game.history()[d]));
    EXPECT_EQ(trajectory.legal_actions()[d], legal[d]);
    EXPECT_EQ(std::isnan(trajectory.root_values(d)), d % 2 == 1);
    EXPECT_EQ(trajectory.policies(3 * d + 2), d % 2 == 0 ? 0.5F : 0.0F);
  }
}

TEST(GameRecorder, WritesDownWhatTheObservationsShow) {
  const std::unique_ptr<PlayedProgram> program = SomeProgram();
  const IndexVector<AccessIndex, uint8_t> in_fast_memory(program->rules().access_count(), 1);
  ShownIncumbent shown = {.in_fast_memory = in_fast_memory, .window_end = 3};
  GameRecorder recorder(*program, TrajectoryId(1, 2, 3), v1::Trajectory::SELF_PLAY, 7);
  Game game(program->rules());
  recorder.Start(game);
  for (; !game.finished(); shown.lead += 0.5F) {
    recorder.NoteIncumbent(shown);
    recorder.Apply(game, EagerAction(game.legal_actions()));
  }
  const v1::Trajectory trajectory = std::move(recorder).Finish();
  EXPECT_EQ(CheckTrajectory(*program, trajectory), absl::OkStatus());
  RecordedIncumbent recorded(trajectory, program->rules().access_count());
  EXPECT_EQ(recorded.At(0)->lead, 0);
  EXPECT_EQ(recorded.At(2)->lead, 1);
  EXPECT_EQ(recorded.At(2)->window_end, AccessIndex(3));
  EXPECT_THAT(recorded.At(2)->in_fast_memory, Each(1));
}

TEST(GameRecorder, IdsAreTheSameForTheSameNumbersOnly) {
  EXPECT_EQ(TrajectoryId(1, 2, 3), TrajectoryId(1, 2, 3));
  EXPECT_NE(TrajectoryId(1, 2, 3), TrajectoryId(1, 3, 2));
  EXPECT_EQ(TrajectoryId(1, 2, 3).size(), 16);
}

TEST(GameRecorder, ADemonstrationIsItsOwnPolicy) {
  const std::unique_ptr<PlayedProgram> program = SomeProgram();
  const Game game = GreedyGame(*program);
  const absl::Span<const Action> actions = game.history();
  const absl::StatusOr<v1::Trajectory> shown = Demonstrate(*program, "id", actions);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->source(), v1::Trajectory::DEMONSTRATION);
  EXPECT_NEAR(TotalReturn(*shown).share(), game.total_return(), 1e-12);
  for (size_t d = 0; d < actions.size(); ++d) {
    EXPECT_EQ(shown->policies(3 * d + Underlying(actions[d])), 1.0F);
  }
}

TEST(GameRecorder, RefusesADemonstrationThatIsNoGame) {
  const std::unique_ptr<PlayedProgram> program = SomeProgram();
  const Game game = GreedyGame(*program);
  std::vector<Action> actions(game.history().begin(), game.history().end());
  actions.pop_back();
  EXPECT_THAT(Demonstrate(*program, "id", actions).status().message(),
              HasSubstr("not a game of it"));
  actions.resize(actions.size() + 2, Action::kDrop);
  EXPECT_FALSE(Demonstrate(*program, "id", actions).ok());
}

}  // namespace
}  // namespace mallocmuzero
