#include "simulator/layers/layer_map.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/layers/layer_matcher.h"
#include "simulator/layers/testing/layer_count.h"
#include "simulator/layers/testing/training_step.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using testing::LayerCount;
using testing::ProgramBuilder;
using testing::Read;
using testing::TrainingStep;
using testing::Update;
using testing::Write;

Program Step(uint32_t layers) {
  absl::StatusOr<Program> program = Program::FromProto(TrainingStep(layers));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

IndexVector<InstructionIndex, int32_t> Numbers(const std::vector<int32_t>& numbers) {
  return IndexVector<InstructionIndex, int32_t>(numbers);
}

TEST(LongestPeriodicPart, IsTheLongestOfSeveral) {
  // 7 0 0 0 | 1 2 3 1 2 3 1 2 3 | 9: three times "0" has 3 instructions, three times "1 2 3" has 9
  const PeriodicPart part =
      LongestPeriodicPart(Numbers({7, 0, 0, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 9}));
  EXPECT_EQ(part.begin, 4);
  EXPECT_EQ(part.period, 3);
  EXPECT_EQ(part.end, 13);
}

TEST(LongestPeriodicPart, NeedsThreePeriods) {
  EXPECT_EQ(LongestPeriodicPart(Numbers({1, 2, 3, 1, 2, 3})).period, 0);
}

TEST(LongestPeriodicPart, LeavesOutInstructionsThatAreAlikeToNone) {
  EXPECT_EQ(LongestPeriodicPart(Numbers({-1, -1, -1, -1})).period, 0);
}

TEST(PairLayers, FollowsActivationsWeightsAndUpdates) {
  const Program program = Step(5);
  const LayerPairs pairs = PairLayers(program, 1);
  // Either the forward or the backward pass gives the direction; both lead away from layer 2.
  std::map<std::string, std::string> next_of;
  for (const InstructionIndex i : program.instructions().indices()) {
    const InstructionIndex next = pairs.next_instruction[i];
    if (next >= 0) next_of[program.MessageOf(i).name()] = program.MessageOf(next).name();
  }
  const std::string next = absl::EndsWith(next_of["gradient.2"], "3") ? "3" : "1";
  for (const std::string kind : {"convert", "product", "add", "gradient", "error", "update"}) {
    EXPECT_EQ(next_of[absl::StrCat(kind, ".2")], absl::StrCat(kind, ".", next)) << kind;
  }
  EXPECT_FALSE(next_of.contains("embed.0"));
  EXPECT_FALSE(next_of.contains("loss.0"));
}

TEST(PairLayers, PairsASharedBufferWithItself) {
  const Program program = Step(4);
  EXPECT_EQ(PairLayers(program, 1).next_buffer[0], BufferIndex(0));  // the mask
}

// Six instructions of one kind, of which the last five swap x and v: a pair of two of them would
// pair x with v and v with x.
Program SwapsTwoBuffers() {
  ProgramBuilder builder;
  const BufferIndex z = builder.AddBuffer(100);
  const BufferIndex x = builder.AddBuffer(100);
  const BufferIndex v = builder.AddBuffer(100);
  builder.AddInstruction(30, {Write(z), Write(x), Write(v)});
  const InstructionIndex first = builder.AddInstruction(20, {Read(z), Update(v)});
  for (int k = 0; k < 5; ++k) {
    builder.AddInstruction(20, {Read(k % 2 == 0 ? v : x), Update(k % 2 == 0 ? x : v)});
  }
  builder.AddInstruction(10, {Read(x), Read(v)});
  v1::Program proto = builder.BuildProto();
  for (int k = 0; k < 6; ++k) {
    proto.mutable_latency()->mutable_instructions(1 + k)->set_latency_class(first.number());
  }
  SealProgram(proto);
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(PairLayers, PairsNoBuffersInACircle) {
  const LayerPairs pairs = PairLayers(SwapsTwoBuffers(), 1);
  EXPECT_EQ(pairs.next_instruction[1], InstructionIndex(2));
  for (InstructionIndex i = 2; i < 7; ++i) {
    EXPECT_EQ(pairs.next_instruction[i], InstructionIndex(-1)) << i;
  }
  EXPECT_EQ(pairs.next_buffer[0], BufferIndex(2));  // z, v, x
  EXPECT_EQ(pairs.next_buffer[2], BufferIndex(1));
  EXPECT_EQ(pairs.next_buffer[1], BufferIndex(-1));
}

// Two instructions further on, x is x and v is v: three layers of two instructions.
TEST(FindLayers, EndsWhereTwoBuffersAreSwapped) {
  EXPECT_EQ(LayerCount(FindLayers(SwapsTwoBuffers())), 3);
}

TEST(FindLayers, CountsTheLayers) {
  EXPECT_EQ(LayerCount(FindLayers(Step(3))), 3);
  EXPECT_EQ(LayerCount(FindLayers(Step(9))), 9);
}

// Six layers of four instructions. The first one writes a buffer b, which the second one of the
// next layer reads. The third one hands s on. In the last layer the first two are of another kind,
// so that their chains are shorter.
Program TwoSeparateParts() {
  constexpr int kLayers = 6;
  ProgramBuilder builder;
  std::vector<BufferIndex> b;
  std::vector<BufferIndex> s;
  for (int k = 0; k < kLayers + 1; ++k) {
    b.push_back(builder.AddBuffer(100, {.live_in = true}));
    s.push_back(builder.AddBuffer(200, {.live_in = true}));
  }
  for (int k = 0; k < kLayers; ++k) {
    const bool is_last = k + 1 == kLayers;
    builder.AddInstruction(is_last ? 21 : 20, {Write(b[k + 1])});
    builder.AddInstruction(is_last ? 31 : 30, {Read(b[k])});
    builder.AddInstruction(40, {Read(s[k]), Write(s[k + 1])});
    builder.AddInstruction(50);
  }
  v1::Program proto = builder.BuildProto();
  for (int i = 4; i < 4 * kLayers; ++i) {
    const bool is_other = i / 4 + 1 == kLayers && i % 4 < 2;
    proto.mutable_latency()->mutable_instructions(i)->set_latency_class(is_other ? i : i % 4);
  }
  SealProgram(proto);
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(FindLayers, NumbersAllPartsOfAProgram) {
  const LayerMap map = FindLayers(TwoSeparateParts());
  ASSERT_GE(map.instructions[0].chain, 0);
  ASSERT_GE(map.buffers[2].chain, 0);
  // The first instruction writes the second b.
  EXPECT_EQ(map.buffers[2].layer, map.instructions[0].layer);
}

TEST(FindLayers, FindsNoneInAProgramWithoutLayers) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(10, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(20);
  const BufferIndex c = builder.AddBuffer(30, {.live_out = true});
  builder.AddInstruction(10, {Read(a), Write(b)});
  builder.AddInstruction(10, {Read(b), Write(c)});
  const LayerMap map = FindLayers(builder.Build());
  EXPECT_EQ(LayerCount(map), 0);
  EXPECT_THAT(map.LayersByRepeatability(), IsEmpty());
}

TEST(FindLayers, FindsNoneInLoops) {
  ProgramBuilder builder;
  const LoopIndex loop = builder.BeginLoop(3);
  for (int k = 0; k < 6; ++k) builder.AddModelled(10, {});
  builder.EndLoop();
  EXPECT_EQ(loop, LoopIndex(0));
  EXPECT_EQ(LayerCount(FindLayers(builder.Build())), 0);
}

TEST(FindLayers, GivesTheInstructionsOfOneLayerOneNumber) {
  const Program program = Step(5);
  const LayerMap map = FindLayers(program);
  const int32_t middle = map.LayersByRepeatability().front();
  std::vector<std::string> names;
  for (const InstructionIndex i : map.RepeatableInstructions(middle)) {
    names.push_back(program.MessageOf(i).name());
  }
  ASSERT_EQ(names.size(), 6) << ::testing::PrintToString(names);
  const std::string layer = names.front().substr(names.front().find('.'));
  EXPECT_THAT(names, UnorderedElementsAre("convert" + layer, "product" + layer, "add" + layer,
                                          "gradient" + layer, "error" + layer, "update" + layer));
}

}  // namespace
}  // namespace mallocmuzero
