#include "simulator/layers/repeat_layers.h"

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/layers/layer_map.h"
#include "simulator/layers/testing/layer_count.h"
#include "simulator/layers/testing/training_step.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using testing::LayerCount;
using testing::ProgramBuilder;
using testing::Read;
using testing::TrainingStep;
using testing::TrainingStepSize;
using testing::TrainingStepWithSumOfGradients;
using testing::Update;
using testing::Write;

Program Checked(v1::Program proto) {
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// The text describes the game of a program, with buffers named by their first accesses. Two
// programs with equal descriptions differ only in the numbers and names of their buffers.
std::vector<std::string> Describe(const Program& program) {
  IndexVector<BufferIndex, int> name_of(program.buffers().end_index(), -1);
  int names = 0;
  std::vector<std::string> lines;
  for (const InstructionIndex i : program.instructions().indices()) {
    std::string line = absl::StrCat("cycles ", program.latency().Cycles(i, 0));
    for (const Access& access : program.AccessesOfInstruction(i)) {
      const Buffer& buffer = program.buffers()[access.buffer];
      int& name = name_of[access.buffer];
      if (name < 0) name = names++;
      absl::StrAppend(&line, " ", static_cast<int>(access.kind), " of ", name, " (", buffer.bytes,
                      " bytes, ", buffer.first.number(), " to ", buffer.last.number(), ", ",
                      buffer.live_in, buffer.live_out, ")");
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(WithModelLayers, MakesTheProgramThatTheDeeperModelHas) {
  for (const uint32_t layers : {4, 5, 8}) {
    for (const int32_t count : {1, 2, 7}) {
      SCOPED_TRACE(absl::StrCat(layers, " layers and ", count));
      const Program deeper = Checked(TrainingStep(layers + count));
      const absl::StatusOr<Program> repeated =
          WithModelLayers(Checked(TrainingStep(layers)), layers, layers + count, "deep");
      ASSERT_TRUE(repeated.ok()) << repeated.status();
      EXPECT_THAT(Describe(*repeated), ElementsAreArray(Describe(deeper)));
      EXPECT_EQ(SimulateAllHbm(*repeated).total_cycles, SimulateAllHbm(deeper).total_cycles);
      EXPECT_EQ(repeated->buffer_count(), deeper.buffer_count());
    }
  }
}

TEST(WithModelLayers, RepeatsARepeatedProgram) {
  const absl::StatusOr<Program> once = WithModelLayers(Checked(TrainingStep(5)), 5, 8, "eight");
  ASSERT_TRUE(once.ok()) << once.status();
  const absl::StatusOr<Program> twice = WithModelLayers(*once, 8, 12, "twelve");
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_EQ(LayerCount(FindLayers(*twice)), 12);
  EXPECT_THAT(Describe(*twice), ElementsAreArray(Describe(Checked(TrainingStep(12)))));
}

TEST(WithModelLayers, KeepsTheActivationOfEachCopyForItsBackwardPass) {
  const absl::StatusOr<Program> repeated = WithModelLayers(Checked(TrainingStep(4)), 4, 9, "nine");
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  // A "gradient" has its error, the kept activation and the gradient. The k-th one in the schedule
  // reads what the k-th last "product" wrote.
  std::vector<BufferIndex> written;
  std::vector<BufferIndex> read;
  for (const InstructionIndex i : repeated->instructions().indices()) {
    const std::string& name = repeated->MessageOf(i).name();
    if (name.find("product") != std::string::npos) {
      written.push_back(repeated->AccessesOfInstruction(i)[3].buffer);
    } else if (name.starts_with("gradient")) {
      read.push_back(repeated->AccessesOfInstruction(i)[1].buffer);
    }
  }
  ASSERT_EQ(written.size(), 9);
  EXPECT_EQ(std::set<BufferIndex>(written.begin(), written.end()).size(), 9);
  EXPECT_EQ(read, std::vector<BufferIndex>(written.rbegin(), written.rend()));
}

TEST(WithModelLayers, GivesNewNamesAndLeavesOutWhatOnlyACompileHas) {
  v1::Program proto = TrainingStep(4);
  ASSERT_TRUE(proto.has_header());
  const absl::StatusOr<Program> repeated = WithModelLayers(Checked(proto), 4, 6, "six");
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->proto().name(), "six");
  EXPECT_EQ(repeated->instruction_count(), TrainingStepSize(6));
  EXPECT_FALSE(repeated->proto().has_baseline());
  EXPECT_FALSE(repeated->proto().has_source());
  EXPECT_THAT(repeated->proto().notes(repeated->proto().notes_size() - 1), HasSubstr("2"));
  std::set<std::string> names;
  for (const v1::Instruction& i : repeated->proto().instructions()) names.insert(i.name());
  EXPECT_EQ(names.size(), TrainingStepSize(6));
}

TEST(WithModelLayers, CountsTheInstructionsOfEachLatencyClass) {
  const absl::StatusOr<Program> repeated = WithModelLayers(Checked(TrainingStep(4)), 4, 7, "seven");
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  uint32_t members = 0;
  for (const v1::LatencyClass& c : repeated->proto().latency().classes()) members += c.members();
  EXPECT_EQ(members, TrainingStepSize(7));
}

TEST(WithModelLayers, RefusesAProgramWithoutLayers) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(10, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(20, {.live_out = true});
  builder.AddInstruction(10, {Read(a), Write(b)});
  EXPECT_THAT(WithModelLayers(builder.Build(), 1, 3, "x").status().message(),
              HasSubstr("expected three or more layers of equal instructions, found none"));
}

TEST(WithModelLayers, RefusesASumOverAllLayersWhoseLatencyInADeeperModelIsUnknown) {
  EXPECT_THAT(
      WithModelLayers(Checked(TrainingStepWithSumOfGradients(4)), 4, 6, "x").status().message(),
      HasSubstr("instruction sum.0 uses a buffer of each layer"));
}

// Three equal layers. Each has a loop between its two instructions outside of loops. The loop reads
// what the first one wrote. If `carries`, it only does so by taking the array over.
Program LayersWithLoops(bool carries) {
  constexpr int kLayers = 3;
  ProgramBuilder builder;
  std::vector<BufferIndex> weights;
  for (int k = 0; k < kLayers; ++k) {  // this part of the schedule leads to the layers
    const BufferIndex master = builder.AddBuffer(400, {.live_in = true});
    weights.push_back(builder.AddBuffer(200));
    builder.AddInstruction(30, {Read(master), Write(weights.back())});
  }
  BufferIndex stream = builder.AddBuffer(100);
  builder.AddInstruction(25, {Write(stream)});
  std::vector<InstructionIndex> products;
  std::vector<InstructionIndex> sums;
  for (int k = 0; k < kLayers; ++k) {
    const BufferIndex product = builder.AddBuffer(160);
    const BufferIndex next = builder.AddBuffer(100);
    products.push_back(
        builder.AddInstruction(80, {Read(stream), Read(weights[k]), Write(product)}));
    const LoopIndex loop = builder.BeginLoop(4);
    const BufferIndex inside = carries ? builder.AddBuffer(160) : product;
    builder.AddInstruction(10, {Update(inside)});
    builder.EndLoop();
    const BufferIndex result = carries ? builder.AddBuffer(160) : product;
    if (carries) builder.AddCarriedGroup(loop, product, inside, inside, result);
    sums.push_back(builder.AddInstruction(20, {Read(result), Write(next)}));
    stream = next;
  }
  builder.AddInstruction(15, {Read(stream)});
  v1::Program proto = builder.BuildProto();
  v1::LatencyTable& latency = *proto.mutable_latency();
  for (int k = 0; k < kLayers; ++k) {  // the layers are of the same latency classes
    latency.mutable_instructions(k)->set_latency_class(0);
    latency.mutable_instructions(products[k].number())->set_latency_class(products[0].number());
    latency.mutable_instructions(sums[k].number())->set_latency_class(sums[0].number());
  }
  SealProgram(proto);
  return Checked(std::move(proto));
}

TEST(WithModelLayers, RefusesLayersWithLoopsWhichItCannotRepeat) {
  const Program program = LayersWithLoops(false);
  ASSERT_EQ(LayerCount(FindLayers(program)), 3);
  EXPECT_THAT(WithModelLayers(program, 3, 5, "x").status().message(),
              HasSubstr("test: expected layers without loops, found loop while."));
}

TEST(WithModelLayers, RefusesLayersWhoseLoopsTakeArraysOver) {
  const Program program = LayersWithLoops(true);
  ASSERT_EQ(LayerCount(FindLayers(program)), 3);
  EXPECT_THAT(WithModelLayers(program, 3, 5, "x").status().message(),
              HasSubstr("test: expected layers without loops, found loop while."));
}

TEST(WithModelLayers, RefusesAProgramWithCollectivesInFlight) {
  v1::Program proto = TrainingStep(4);
  v1::Collective& collective = *proto.add_collectives();
  collective.set_done(1);
  SealProgram(proto);
  EXPECT_THAT(WithModelLayers(Checked(proto), 4, 6, "x").status().message(),
              HasSubstr("expected a program without asynchronous collectives, found 1"));
}

TEST(WithModelLayers, RefusesAProgramThatIsTooLongBeforeItMakesIt) {
  constexpr int32_t kCount = 1'000'000;
  EXPECT_THAT(WithModelLayers(Checked(TrainingStep(4)), 4, 4 + kCount, "x").status().message(),
              HasSubstr(absl::StrCat("expected at most 1000000 instructions, found ",
                                     TrainingStepSize(4 + kCount))));
}

TEST(WithModelLayers, CountsTwoLayersOfTheModelWhereTheCompilerFusesTwo) {
  // A model of 8 layers whose program repeats itself 4 times.
  const Program program = Checked(TrainingStep(4));
  const absl::StatusOr<Program> deeper = WithModelLayers(program, 8, 14, "fourteen");
  ASSERT_TRUE(deeper.ok()) << deeper.status();
  EXPECT_EQ(deeper->instruction_count(), TrainingStepSize(7));
  EXPECT_THAT(WithModelLayers(program, 8, 13, "x").status().message(),
              HasSubstr("expected 8 layers and a multiple of 2, since the compiler fuses "
                        "instructions of 2 layers; found 13"));
}

TEST(WithModelLayers, RefusesToTakeLayersAway) {
  EXPECT_THAT(WithModelLayers(Checked(TrainingStep(4)), 4, 4, "x").status().message(),
              HasSubstr("expected more than 4 layers, found 4"));
}

}  // namespace
}  // namespace mallocmuzero
