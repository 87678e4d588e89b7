#include "simulator/bound/relaxed_placement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

constexpr auto kNever = [] { return false; };

// Two values of 600 bytes that are written, and read much later. The fast memory has 1024 bytes.
Program TwoValuesOfWhichOneFits(double saved_by_first, double saved_by_second) {
  ProgramBuilder builder;
  const BufferIndex first = builder.AddBuffer(600);
  const BufferIndex second = builder.AddBuffer(600);
  builder.AddInstruction(100, {Write(first, saved_by_first)});
  builder.AddInstruction(100, {Write(second, saved_by_second)});
  for (int k = 0; k < 5; ++k) builder.AddInstruction(1);  // no time for a copy
  builder.AddInstruction(100, {Read(first, saved_by_first)});
  builder.AddInstruction(100, {Read(second, saved_by_second)});
  return builder.Build();
}

TEST(RelaxedPlacements, KeepTheValueThatSavesMoreMoreOftenIfOneFits) {
  const RelaxedPlacements placements =
      *FindRelaxedPlacements(TwoValuesOfWhichOneFits(30, 50), 300, kNever);
  EXPECT_GT(placements.mean.in_fast_memory[3], placements.mean.in_fast_memory[2]);
  EXPECT_GT(placements.mean.stays[3], placements.mean.stays[2]);
}

TEST(RelaxedPlacements, ReadsOfOneValueStayInFastMemory) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  for (int k = 0; k < 3; ++k) builder.AddInstruction(100, {Read(weights, 50)});
  const RelaxedPlacements placements = *FindRelaxedPlacements(builder.Build(), 100, kNever);
  EXPECT_THAT(placements.last.in_fast_memory, ElementsAre(1, 1, 1));
  EXPECT_THAT(placements.last.stays, ElementsAre(0, 1, 1));
}

TEST(RelaxedPlacements, NothingIsInFastMemoryThatSavesNothing) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  for (int k = 0; k < 3; ++k) builder.AddInstruction(100, {Read(weights, -5)});
  const RelaxedPlacements placements = *FindRelaxedPlacements(builder.Build(), 100, kNever);
  EXPECT_THAT(placements.last.in_fast_memory, Each(0));
  EXPECT_THAT(placements.mean.in_fast_memory, Each(0));
}

TEST(RelaxedPlacements, WithoutStepsAreThoseOfTheFirstPrices) {
  const Program program = TwoValuesOfWhichOneFits(30, 50);
  const RelaxedPlacements placements = *FindRelaxedPlacements(program, 0, kNever);
  EXPECT_EQ(placements.last.in_fast_memory.size(), 4);
  EXPECT_EQ(placements.mean.in_fast_memory, placements.last.in_fast_memory);
}

TEST(RelaxedPlacements, AreNotThereIfTheSearchIsGivenUp) {
  const Program program = TwoValuesOfWhichOneFits(30, 50);
  int steps = 0;
  EXPECT_FALSE(FindRelaxedPlacements(program, 10, [&] { return ++steps == 10; }));
  EXPECT_EQ(steps, 10);
  EXPECT_TRUE(FindRelaxedPlacements(program, 9, [&] { return ++steps == 20; }));
}

}  // namespace
}  // namespace mallocmuzero
