#include "simulator/core/values.h"

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Write;

TEST(FindValues, AWriteStartsAValueThatLastsUntilTheNextWrite) {
  ProgramBuilder builder;
  const BufferIndex x = builder.AddBuffer(16);
  builder.AddInstruction(1, {Write(x)});  // access 0
  builder.AddInstruction(1, {Read(x)});   // 1
  builder.AddInstruction(1, {Write(x)});  // 2
  builder.AddInstruction(1, {Read(x)});   // 3
  const Program program = builder.Build();
  const auto values = FindValues(program, UpdateMeaning::kMakesValue);
  ASSERT_EQ(values.size(), 2);
  EXPECT_TRUE(values[0].has_definition);
  EXPECT_THAT(values[0].accesses, IndicesAre(0, 1));
  EXPECT_TRUE(values[1].has_definition);
  EXPECT_THAT(values[1].accesses, IndicesAre(2, 3));
}

TEST(FindValues, AnUpdateMakesAValueForTheCompilerAndContinuesItForTheGame) {
  ProgramBuilder builder;
  const BufferIndex x = builder.AddBuffer(16);
  builder.AddInstruction(1, {Write(x)});   // access 0
  builder.AddInstruction(1, {Update(x)});  // 1
  builder.AddInstruction(1, {Read(x)});    // 2
  const Program program = builder.Build();
  const auto values = FindValues(program, UpdateMeaning::kMakesValue);
  ASSERT_EQ(values.size(), 2);
  EXPECT_THAT(values[0].accesses, IndicesAre(0));
  EXPECT_TRUE(values[1].has_definition);
  EXPECT_THAT(values[1].accesses, IndicesAre(1, 2));
  const auto of_the_game = FindValues(program, UpdateMeaning::kContinuesValue);
  ASSERT_EQ(of_the_game.size(), 1);
  EXPECT_THAT(of_the_game[0].accesses, IndicesAre(0, 1, 2));
}

TEST(FindValues, AnInputHasAValueWithoutADefinition) {
  ProgramBuilder builder;
  const BufferIndex in = builder.AddBuffer(16, {.live_in = true});
  const BufferIndex x = builder.AddBuffer(16);
  builder.AddInstruction(1, {Read(in), Write(x)});  // accesses 0, 1
  builder.AddInstruction(1, {Read(x), Read(in)});   // 2, 3
  const Program program = builder.Build();
  const auto values = FindValues(program, UpdateMeaning::kMakesValue);
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[0].buffer, in);
  EXPECT_FALSE(values[0].has_definition);
  EXPECT_THAT(values[0].accesses, IndicesAre(0, 3));
  EXPECT_EQ(values[1].buffer, x);
  EXPECT_THAT(values[1].accesses, IndicesAre(1, 2));
}

}  // namespace
}  // namespace mallocmuzero
