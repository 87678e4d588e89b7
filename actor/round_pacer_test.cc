#include "actor/round_pacer.h"

#include <limits>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Makes a pacer that first assumes that searched games take three times as long as others.
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

// These times were measured: 0.14 s for two games by the policy, of 3.6 s in all.
TEST(RoundPacer, TwoGamesDoNotMakeSearchLookTooSlow) {
  RoundPacer pacer = MakePacer();
  pacer.Add(pacer.Next(3.6), 0.14);
  // A game takes 0.14 s / (2 + 8) = 0.014 s by the policy and 0.042 s with search. Half of the time
  // left is enough for 1.73 / 0.042 = 41.2 games, less 8.
  EXPECT_EQ(pacer.Next(3.46), (AgentRound{33, true}));
}

TEST(RoundPacer, WhatARoundWithSearchTookDoesNotChangeWhatOneWithoutTakes) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  pacer.Add({32, true}, 1000);
  // A game by the policy takes 1 s / (2 + 8) = 0.1 s: 5 / 0.1 - 8 = 42.
  EXPECT_EQ(pacer.Next(5), (AgentRound{42, false}));
}

TEST(RoundPacer, GoesByWhatARoundWithSearchTookOnceThereWasOne) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  pacer.Add({32, true}, 4);
  pacer.Add({32, false}, 4);
  // A searched game takes 4 s / (32 + 8) = 0.1 s and not the assumed 0.3 s: 3 / 0.1 - 8 = 22.
  EXPECT_EQ(pacer.Next(3), (AgentRound{22, true}));
}

TEST(RoundPacer, RoundsInWhichTheClockStoodStillAreNotFree) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 0);
  pacer.Add({32, true}, 0);
  EXPECT_EQ(pacer.Next(1), (AgentRound{64, false}));
  EXPECT_EQ(pacer.Next(0), AgentRound{});
}

TEST(RoundPacer, WithoutTimeForSearchThePolicyPlays) {
  RoundPacer pacer = MakePacer();
  pacer.Add({2, false}, 1);
  // Eight games take 1.6 s by the policy, and up to twice 4.8 s with search.
  EXPECT_EQ(pacer.Next(9.7), (AgentRound{8, true}));
  EXPECT_EQ(pacer.Next(9.5), (AgentRound{64, false}));
  EXPECT_EQ(pacer.Next(1.7), (AgentRound{9, false}));
  EXPECT_EQ(pacer.Next(1.6), (AgentRound{8, false}));
  EXPECT_EQ(pacer.Next(1.5), AgentRound{});
  EXPECT_EQ(pacer.Next(-kInfinity), AgentRound{});
}

}  // namespace
}  // namespace mallocmuzero
