#include "tools/gym/native/game_batch.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "base/enums.h"
#include "env/players.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::gym {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Programs that leave something to decide.
std::vector<SharedProgram> RandomPrograms(size_t count) {
  std::vector<SharedProgram> programs;
  std::mt19937_64 random(3);
  while (programs.size() < count) {
    SharedProgram program = PlayedProgram::Create(testing::RandomGameProgram(random));
    if (program->decisions() > 3) programs.push_back(std::move(program));
  }
  return programs;
}

ActionSet MaskOf(const GameBatch& batch, size_t game) {
  ActionSet legal = 0;
  for (const Action action : kActions) {
    const size_t entry = game * kActionCount + Underlying(action);
    if (batch.arrays().action_masks[entry] != 0) legal |= SetOf(action);
  }
  return legal;
}

int64_t AnyLegal(ActionSet legal, std::mt19937_64& random) {
  while (true) {
    const auto action = static_cast<Action>(random() % kActionCount);
    if (Contains(legal, action)) return Underlying(action);
  }
}

// One step of random legal actions; finished games get an action that they must ignore.
std::vector<int64_t> RandomActions(const GameBatch& batch, std::mt19937_64& random) {
  std::vector<int64_t> actions;
  for (size_t g = 0; g < batch.games(); ++g) {
    const ActionSet legal = MaskOf(batch, g);
    actions.push_back(legal != 0 ? AnyLegal(legal, random) : 0);
  }
  return actions;
}

TEST(GameBatch, PaysWhatTheSimulatorSays) {
  GameBatch batch(RandomPrograms(8), 8, {});
  std::mt19937_64 random(5);
  for (size_t g = 0; g < batch.games(); ++g) {
    batch.Reset(g, g);
    double total = batch.game(g).initial_return();
    while (batch.arrays().terminated[g] == 0) {
      ASSERT_TRUE(batch.StepGame(g, AnyLegal(MaskOf(batch, g), random)).ok());
      total += batch.arrays().rewards[g];
    }
    const Game& game = batch.game(g);
    const double cycles = Simulate(game.program(), game.ToMapping()).total_cycles;
    EXPECT_NEAR(batch.arrays().cycles[g], cycles, 1e-9 * cycles);
    EXPECT_NEAR(total, 1 - cycles / game.rules().all_hbm_cycles(), 1e-9);
  }
}

TEST(GameBatch, PlaysTheSameOnAnyNumberOfThreads) {
  const std::vector<SharedProgram> programs = RandomPrograms(3);
  GameBatch one(programs, 7, {});
  GameBatch four(programs, 7, {.threads = 4});
  for (size_t g = 0; g < one.games(); ++g) {
    one.Reset(g, g % 3);
    four.Reset(g, g % 3);
  }
  std::mt19937_64 random(1);
  for (int step = 0; step < 300; ++step) {
    const std::vector<int64_t> actions = RandomActions(one, random);
    ASSERT_TRUE(one.Step(actions).ok());
    ASSERT_TRUE(four.Step(actions).ok());
    ASSERT_EQ(four.arrays().observations, one.arrays().observations);
    ASSERT_EQ(four.arrays().rewards, one.arrays().rewards);
    ASSERT_EQ(four.arrays().terminated, one.arrays().terminated);
  }
}

TEST(GameBatch, StartsAFinishedGameAnewWithTheChosenProgram) {
  GameBatch batch(RandomPrograms(2), 1, {});
  while (batch.arrays().terminated[0] == 0) {
    ASSERT_TRUE(batch.StepGame(0, Underlying(EagerAction(MaskOf(batch, 0)))).ok());
  }
  EXPECT_EQ(MaskOf(batch, 0), 0);
  EXPECT_EQ(batch.StepGame(0, 0).code(), absl::StatusCode::kFailedPrecondition);
  batch.ChooseNext(0, 1);
  ASSERT_TRUE(batch.Step({0}).ok());
  EXPECT_EQ(batch.program(0), 1);
  EXPECT_EQ(batch.arrays().rewards[0], 0);
  EXPECT_EQ(batch.arrays().terminated[0], 0);
  EXPECT_TRUE(batch.game(0).history().empty());
}

TEST(GameBatch, GoesBackToASnapshot) {
  const std::vector<SharedProgram> programs = RandomPrograms(2);
  GameBatch batch(programs, 2, {});
  ASSERT_TRUE(batch.StepGame(0, Underlying(EagerAction(MaskOf(batch, 0)))).ok());
  const Snapshot snapshot = batch.TakeSnapshot(0);
  const std::vector<float> row(batch.arrays().observations.begin(),
                               batch.arrays().observations.begin() + batch.observation_size());
  batch.Reset(0, 1);
  ASSERT_TRUE(batch.Restore(0, snapshot).ok());
  ASSERT_TRUE(batch.Restore(1, snapshot).ok());
  for (const size_t g : {0, 1}) {
    EXPECT_TRUE(batch.game(g) == snapshot.game);
    EXPECT_EQ(batch.program(g), 0);
    const auto begin = batch.arrays().observations.begin() + g * batch.observation_size();
    EXPECT_TRUE(std::equal(row.begin(), row.end(), begin));
  }
  GameBatch other({programs[1]}, 1, {});
  EXPECT_THAT(std::string(other.Restore(0, snapshot).message()),
              HasSubstr("which this environment does not play"));
}

TEST(GameBatch, GoesToASnapshotOfAnEqualProgram) {
  GameBatch batch(RandomPrograms(2), 1, {});
  batch.Reset(0, 1);
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(batch.StepGame(0, Underlying(EagerAction(MaskOf(batch, 0)))).ok());
  }
  const Snapshot snapshot = batch.TakeSnapshot(0);
  GameBatch other(RandomPrograms(2), 1, {});
  ASSERT_NE(other.programs()[1], snapshot.program);
  ASSERT_TRUE(other.Restore(0, snapshot).ok());
  EXPECT_EQ(other.program(0), 1);
  EXPECT_EQ(&other.game(0).rules(), &other.programs()[1]->rules());
  EXPECT_THAT(other.game(0).history(), ElementsAreArray(snapshot.game.history()));
  EXPECT_EQ(other.arrays().observations, batch.arrays().observations);
  EXPECT_EQ(other.arrays().cycles, batch.arrays().cycles);
  EXPECT_TRUE(other.TakeSnapshot(0) == snapshot);
  EXPECT_EQ(absl::HashOf(other.TakeSnapshot(0)), absl::HashOf(snapshot));
}

// Returns an action that is not legal; plays on until there is one.
int64_t FindIllegal(GameBatch& batch) {
  while (true) {
    for (const Action action : kActions) {
      if (!Contains(MaskOf(batch, 0), action)) return Underlying(action);
    }
    EXPECT_TRUE(batch.StepGame(0, Underlying(Action::kDrop)).ok());
  }
}

TEST(GameBatch, ReplacesAnIllegalActionAndSaysSo) {
  GameBatch batch(RandomPrograms(1), 1, {});
  const int64_t illegal = FindIllegal(batch);
  const ActionSet legal = MaskOf(batch, 0);
  ASSERT_TRUE(batch.StepGame(0, illegal).ok());
  EXPECT_EQ(batch.arrays().illegal[0], 1);
  EXPECT_TRUE(Contains(legal, batch.game(0).history().back()));
}

TEST(GameBatch, RefusesWrongActionsAndChangesNothing) {
  GameBatch batch(RandomPrograms(1), 2, {.illegal = IllegalAction::kError});
  const int64_t illegal = FindIllegal(batch);
  const Snapshot before[] = {batch.TakeSnapshot(0), batch.TakeSnapshot(1)};
  const int64_t legal = Underlying(EagerAction(MaskOf(batch, 1)));
  for (const std::vector<int64_t>& actions : std::vector<std::vector<int64_t>>{
           {illegal, legal}, {-1, legal}, {3, legal}, {int64_t{1} << 40, legal}, {legal}, {}}) {
    EXPECT_EQ(batch.Step(actions).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(batch.game(0) == before[0].game);
  EXPECT_TRUE(batch.game(1) == before[1].game);
  const int64_t first = Underlying(EagerAction(MaskOf(batch, 0)));
  EXPECT_THAT(std::string(batch.Step({first, 7}).message()),
              ::testing::Eq("game 1: the action 7 does not exist: expected 0, 1 or 2"));
}

TEST(GameBatch, ShowsTheBriefObservationAsPartOfTheFullOne) {
  namespace layout = observation;
  const std::vector<SharedProgram> programs = RandomPrograms(1);
  GameBatch full(programs, 1, {});
  GameBatch brief(programs, 1, {.observation = ObservationKind::kBrief});
  for (int step = 0; step < 4; ++step) {
    const std::vector<float>& all = full.arrays().observations;
    std::vector<float> expected;
    const auto add = [&](size_t offset, size_t size) {
      const auto begin = all.begin() + offset;
      expected.insert(expected.end(), begin, begin + size);
    };
    add(layout::kDecisionOffset, layout::kDecisionFeatures);
    add(layout::kAccessesOffset, layout::kAccessFeatures);
    add(layout::kProgramOffset, layout::kProgramFeatures);
    EXPECT_THAT(brief.arrays().observations, ElementsAreArray(expected));
    const int64_t action = Underlying(EagerAction(MaskOf(full, 0)));
    ASSERT_TRUE(full.StepGame(0, action).ok());
    ASSERT_TRUE(brief.StepGame(0, action).ok());
  }
}

}  // namespace
}  // namespace mallocmuzero::gym
