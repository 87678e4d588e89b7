#include "actor/round_pacer.h"

#include <limits>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The estimated time of a searched decision is three times that of one by the policy.
RoundPacer MakePacer() { return RoundPacer(3); }

TEST(RoundPacer, TheFirstRoundIsPlayedWhateverTheTime) {
  EXPECT_EQ(MakePacer().Next(-kInfinity), (AgentRound{2, false}));
  EXPECT_EQ(MakePacer().Next(kInfinity), (AgentRound{2, false}));
}

TEST(RoundPacer, SearchesInEverySecondRound) {
  RoundPacer pacer = MakePacer();
  for (int round = 0; round < 6; ++round) {
    const AgentRound next = pacer.Next(kInfinity);
    EXPECT_EQ(next.games, round == 0 ? 2 : 64);
    EXPECT_EQ(next.searches, round % 2 == 1);
    pacer.Add(next, 1);
  }
}

// Measured times: 0.14 s for two games by the policy, and 3.6 s for all rounds.
TEST(RoundPacer, TwoGamesDoNotMakeSearchLookTooSlow) {
  RoundPacer pacer = MakePacer();
  pacer.Add(pacer.Next(3.6), 0.14);
  // 0.014 s for each of 2 + 8 games; half of 3.46 s are 1.73 / 0.042 = 41.2, less 8.
  EXPECT_EQ(pacer.Next(3.46), (AgentRound{33, true}));
}

TEST(RoundPacer, WhatARoundWithSearchTookDoesNotChangeWhatOneWithoutTakes) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  pacer.Add({32, true}, 1000);
  // Each game takes a tenth of a second: 5 / 0.1 - 8.
  EXPECT_EQ(pacer.Next(5), (AgentRound{42, false}));
}

TEST(RoundPacer, GoesByWhatARoundWithSearchTookOnceThereWasOne) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  pacer.Add({32, true}, 4);
  pacer.Add({32, false}, 4);
  // 4 / (32 + 8) = 0.1 s a game, not 0.3: 3 / 0.1 - 8.
  EXPECT_EQ(pacer.Next(3), (AgentRound{22, true}));
}

TEST(RoundPacer, AClockThatIsSetBackIsBorne) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, -3);
  pacer.Add({32, true}, 0);
  EXPECT_EQ(pacer.Next(1), (AgentRound{64, false}));
  EXPECT_EQ(pacer.Next(-1), AgentRound{});
}

TEST(RoundPacer, WithoutTimeForSearchThePolicyPlays) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  // Eight games take 1.6 s by the policy, and up to twice 4.8 s with search.
  EXPECT_EQ(pacer.Next(9.7), (AgentRound{8, true}));
  EXPECT_EQ(pacer.Next(9.5), (AgentRound{64, false}));
  EXPECT_EQ(pacer.Next(1.7), (AgentRound{9, false}));
  EXPECT_EQ(pacer.Next(1.5), AgentRound{});
  EXPECT_EQ(pacer.Next(-kInfinity), AgentRound{});
}

}  // namespace
}  // namespace mallocmuzero
