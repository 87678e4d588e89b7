#include "simulator/overrides/positions.h"

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/overrides/test_util.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MustSeal;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Wanted;
using testing::Write;

// fusion.0 reads `in` (access 0) and writes an array (access 1) of these sizes.
Program ReadsAndWrites(int64_t in_bytes, int64_t out_bytes) {
  ProgramBuilder builder;
  const BufferIndex in = builder.AddBuffer(in_bytes, {.live_in = true});
  const BufferIndex out = builder.AddBuffer(out_bytes);
  builder.AddInstruction(1, {Read(in), Write(out)});
  return builder.Build();
}

TEST(UsesOf, ASmallerOperandIsBoundedFromAbove) {
  const std::vector<Use> uses = UsesOf(ReadsAndWrites(100, 300), 0, Wanted("01"));
  ASSERT_EQ(uses.size(), 1);
  EXPECT_EQ(uses[0].instruction, "fusion.0");
  EXPECT_EQ(uses[0].operand, 0);
  EXPECT_THAT(uses[0].tuple_index, IsEmpty());
  EXPECT_EQ(uses[0].size_lte, 200);
  EXPECT_EQ(uses[0].size_gte, 99);
}

TEST(UsesOf, ALargerOperandIsBoundedFromBelow) {
  const std::vector<Use> uses = UsesOf(ReadsAndWrites(300, 100), 0, Wanted("01"));
  ASSERT_EQ(uses.size(), 1);
  EXPECT_EQ(uses[0].size_gte, 200);
  EXPECT_EQ(uses[0].size_lte, 301);
}

TEST(UsesOf, TheBoundSeparatesSizesThatDifferByOne) {
  EXPECT_EQ(UsesOf(ReadsAndWrites(99, 100), 0, Wanted("01"))[0].size_lte, 99);
  EXPECT_EQ(UsesOf(ReadsAndWrites(100, 99), 0, Wanted("01"))[0].size_gte, 100);
}

TEST(UsesOf, AnOperandAsLongAsTheOutputIsLeftOutUnlessBothGoToTheSameMemory) {
  const Program program = ReadsAndWrites(100, 100);
  EXPECT_THAT(UsesOf(program, 0, Wanted("01")), IsEmpty());
  const std::vector<Use> uses = UsesOf(program, 0, Wanted("00"));
  ASSERT_EQ(uses.size(), 1);
  EXPECT_EQ(uses[0].size_gte, 99);
  EXPECT_EQ(uses[0].size_lte, 101);
}

TEST(UsesOf, AnOutputOfAnotherTupleIndexDoesNotMoveTheBounds) {
  ProgramBuilder builder;
  const BufferIndex in = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex out = builder.AddBuffer(300);
  builder.AddInstruction(1, {Read(in), Write(out)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_accesses(1)->mutable_positions(0)->add_tuple_index(1);
  const Program program = MustSeal(proto);
  const std::vector<Use> uses = UsesOf(program, 0, Wanted("01"));
  ASSERT_EQ(uses.size(), 1);
  EXPECT_EQ(uses[0].size_lte, 101);
  const std::vector<Definition> definitions = DefinitionsOf(program, 1);
  ASSERT_EQ(definitions.size(), 1);
  EXPECT_THAT(definitions[0].tuple_index, ElementsAre(1));
  EXPECT_EQ(definitions[0].bytes, 300);
}

TEST(UsesOf, AnUpdateIsAUseAndADefinitionOfOneMemory) {
  ProgramBuilder builder;
  const BufferIndex state = builder.AddBuffer(100, {.live_in = true, .live_out = true});
  builder.AddInstruction(1, {Update(state)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_accesses(0)->add_positions()->set_operand(-1);
  const Program program = MustSeal(proto);
  EXPECT_EQ(UsesOf(program, 0, Wanted("1")).size(), 1);
  EXPECT_EQ(DefinitionsOf(program, 0).size(), 1);
}

TEST(UsesOf, EveryOperandOfAnAccessIsAUse) {
  ProgramBuilder builder;
  const BufferIndex in = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(1, {Read(in)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_accesses(0)->add_positions()->set_operand(4);
  const std::vector<Use> uses = UsesOf(MustSeal(proto), 0, Wanted("0"));
  ASSERT_EQ(uses.size(), 2);
  EXPECT_EQ(uses[1].operand, 4);
  // They may differ in size.
  EXPECT_FALSE(uses[0].size_gte.has_value());
  EXPECT_FALSE(uses[1].size_lte.has_value());
}

TEST(InputDefinition, IsTheParameterOfAnInputAndNothingElse) {
  const Program program = ReadsAndWrites(100, 300);
  const std::vector<Definition> input = InputDefinition(program, 0);
  ASSERT_EQ(input.size(), 1);
  EXPECT_EQ(input[0].instruction, "value.0");  // as ProgramBuilder names the tensor of buffer 0
  EXPECT_EQ(input[0].bytes, 100);
  EXPECT_THAT(InputDefinition(program, 1), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
