#include "learner/role/learner_rates.h"

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/role/actor_book.h"
#include "learner/role/training.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST(LearnerRates, AreOfNothingUntilThereIsSomethingToCompare) {
  LearnerRates rates;
  EXPECT_THAT(rates.Figures(), IsEmpty());
  rates.Add({.step = 10}, {}, kStart);
  EXPECT_THAT(rates.Figures(), IsEmpty());
}

TEST(LearnerRates, AreDifferencesASecond) {
  LearnerRates rates;
  rates.Add({.step = 10, .rows = 1000}, {.games = 5, .decisions = 600}, kStart);
  rates.Add({.step = 30, .rows = 5000}, {.games = 6, .decisions = 680}, kStart + absl::Seconds(4));
  EXPECT_THAT(rates.Figures(),
              ElementsAre(Pair("decisions_per_second", 20), Pair("games_per_second", 0.25),
                          Pair("rows_per_second", 1000), Pair("updates_per_second", 5)));
}

TEST(LearnerRates, ForgetWhatIsTenSecondsAgo) {
  LearnerRates rates;
  rates.Add({.step = 0}, {}, kStart);
  rates.Add({.step = 1000}, {}, kStart + absl::Seconds(1));
  for (int k = 2; k <= 20; ++k) rates.Add({.step = 1000}, {}, kStart + absl::Seconds(k));
  EXPECT_EQ(rates.Figures().at("updates_per_second"), 0);
}

TEST(LearnerRates, HaveTheMeanAgeOfWhatWasDrawnMeanwhile) {
  TrainingFigures figures;
  LearnerRates rates;
  const auto draw = [&](uint64_t game_step, uint64_t step) {
    v1::Trajectory game;
    game.set_network_step(game_step);
    game.set_source(v1::Trajectory::SELF_PLAY);
    DrawnPosition position;
    position.trajectory = std::make_shared<const v1::Trajectory>(game);
    figures.drawn_ages.Add({&position, 1}, step);
  };
  draw(0, 500);
  rates.Add(figures, {}, kStart);
  EXPECT_THAT(rates.Figures(), Not(Contains(Key("drawn_age"))));
  draw(90, 100);
  draw(70, 100);
  rates.Add(figures, {}, kStart + absl::Seconds(1));
  EXPECT_EQ(rates.Figures().at("drawn_age"), 20);
}

}  // namespace
}  // namespace mallocmuzero
