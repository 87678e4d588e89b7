// The worked example of docs/mallocgame.md, decision by decision.

#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using ::testing::UnorderedElementsAre;
using testing::Write;

constexpr BufferIndex kX = 0, kW = 1, kA = 2, kB = 3, kC = 4, kE = 5, kZ = 6, kY = 7;

Program Example() {
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(600);
  builder.hardware().set_fast_memory_alignment_bytes(4);
  builder.AddBuffer(200, {.live_in = true});
  builder.AddBuffer(200, {.live_in = true});
  for (const int64_t bytes : {200, 100, 100, 300}) builder.AddBuffer(bytes);
  builder.AddBuffer(100, {.live_out = true});
  builder.AddBuffer(100, {.live_out = true});
  builder.AddInstruction(55, {Read(kX, 10), Write(kA, 10)});
  builder.AddInstruction(35, {Read(kA, 15), Write(kB, 5)});
  builder.AddInstruction(40, {Read(kA, 15), Read(kB, 0), Write(kC, 5)});
  builder.AddInstruction(60, {Read(kW, 15), Read(kC, 5), Write(kE, 15)});
  builder.AddInstruction(60, {Read(kW, 10), Read(kE, 20), Write(kZ, 3)});
  builder.AddInstruction(50, {Read(kB, 5), Read(kE, 10), Write(kY, 12)});
  return builder.Build();
}

TEST(WorkedExample, PlaysAsWritten) {
  struct Step {
    BufferIndex buffer;
    ActionSet legal;
    Action action;
    double gain;  // cycles
  };
  const Step steps[] = {
      {kA, Set({kCopy, kNoCopy, kDrop}), kNoCopy, 10 + 15},
      {kB, Set({kCopy, kNoCopy, kDrop}), kCopy, 5 + 15},
      {kC, Set({kCopy, kNoCopy, kDrop}), kNoCopy, 5},
      {kW, Set({kCopy, kDrop}), kCopy, 15 + 5},
      {kE, Set({kCopy, kNoCopy, kDrop}), kNoCopy, 15},
      {kW, Set({kNoCopy, kDrop}), kNoCopy, 10 + 20},
      {kB, Set({kCopy, kDrop}), kCopy, 5 + 10},
  };
  const Program program = Example();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  for (const Step& step : steps) {
    ASSERT_FALSE(game.finished());
    EXPECT_EQ(program.accesses()[game.access()].buffer, step.buffer);
    EXPECT_EQ(game.legal_actions(), step.legal);
    EXPECT_NEAR(game.Apply(step.action), step.gain / 300, 1e-12);
  }
  ASSERT_TRUE(game.finished());
  const Mapping mapping = game.ToMapping();
  EXPECT_NEAR(Simulate(program, mapping).total_cycles, 170, 1e-9);
  EXPECT_THAT(mapping.intervals,
              UnorderedElementsAre(Interval{.buffer = kA, .first = 0, .last = 2, .offset = 0},
                                   Interval{.buffer = kW,
                                            .first = 1,
                                            .last = 4,
                                            .offset = 400,
                                            .copy_in_start = 1,
                                            .copy_in_done = 3},
                                   Interval{.buffer = kB,
                                            .first = 1,
                                            .last = 2,
                                            .offset = 200,
                                            .copy_out_start = 2,
                                            .copy_out_done = 3},
                                   Interval{.buffer = kC, .first = 2, .last = 3, .offset = 300},
                                   Interval{.buffer = kE, .first = 3, .last = 5, .offset = 0},
                                   Interval{.buffer = kB,
                                            .first = 4,
                                            .last = 5,
                                            .offset = 300,
                                            .copy_in_start = 4,
                                            .copy_in_done = 5}));
}

}  // namespace
}  // namespace mallocmuzero
