#include "dashboard/memory_map.h"

#include <cmath>
#include <string>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// Two instructions: the first takes 100 cycles and makes `made`; the second takes 60 with the
// weights in HBM, and reads both. HBM moves 10 bytes a cycle.
Program TwoSteps() {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex made = builder.AddBuffer(100, {.live_out = true});
  builder.AddInstruction(100, {Write(made)});
  builder.AddInstruction(60, {Read(weights, 30), Read(made)});
  return builder.Build();
}

// The weights are copied to address 512 while the first instruction runs.
Mapping WithPrefetch() {
  Mapping mapping;
  mapping.in_fast_memory = {0, 1, 0};
  mapping.intervals = {
      {.buffer = 0, .first = 0, .last = 1, .offset = 512, .copy_in_start = 0, .copy_in_done = 1}};
  return mapping;
}

TEST(MemoryMap, DescribesTheProgram) {
  const v1::DashboardProgram program = DescribeProgram(TwoSteps());
  EXPECT_EQ(program.fast_memory_name(), "CMEM");
  EXPECT_EQ(program.fast_memory_bytes(), 1024);
  EXPECT_FALSE(program.has_default_cycles());
  EXPECT_EQ(program.all_hbm_cycles(), 160);
  EXPECT_EQ(program.instructions().name_size(), 2);
  EXPECT_THAT(program.buffers().bytes(), ElementsAre(400, 100));
  EXPECT_THAT(program.buffers().unpadded_bytes(), ElementsAre(400, 100));
  EXPECT_EQ(program.kinds(program.buffers().kind(0)), "weight or input");
  EXPECT_EQ(program.kinds(program.buffers().kind(1)), "output or updated input");
}

TEST(MemoryMap, PlacesStaysAndCopiesOnTheAxisOfCycles) {
  const Mapping mapping = WithPrefetch();
  const v1::DashboardMap map = MakeMap(TwoSteps(), {.mapping = mapping}, view::Axis::kCycles);
  // 100 cycles, and then 60 - 30.
  EXPECT_EQ(map.cycles(), 130);
  EXPECT_EQ(map.stall_cycles(), 0);
  EXPECT_EQ(map.end(), 130);
  EXPECT_THAT(map.steps().reached(), ElementsAre(0, 100, 130));
  EXPECT_THAT(map.intervals().buffer(), ElementsAre(0));
  EXPECT_THAT(map.intervals().begin(), ElementsAre(0));
  EXPECT_THAT(map.intervals().end(), ElementsAre(130));
  EXPECT_THAT(map.intervals().offset(), ElementsAre(512));
  EXPECT_THAT(map.intervals().reads(), ElementsAre(1));
  EXPECT_THAT(map.copies_of().queued(), ElementsAre(0));
  EXPECT_THAT(map.copies_of().needed(), ElementsAre(100));
  EXPECT_THAT(map.copies_of().needed_at(), ElementsAre(1));
  EXPECT_THAT(map.moves().copy(), ElementsAre(0));
  EXPECT_EQ(map.copied_bytes(), 400);
  // The first instruction has 1000 bytes of bandwidth. It writes 100 itself, and the copy takes
  // 400.
  EXPECT_DOUBLE_EQ(map.steps().own_share(0), 0.1);
  EXPECT_DOUBLE_EQ(map.steps().copy_share(0), 0.4);
  EXPECT_TRUE(map.reasons().empty());
}

TEST(MemoryMap, ShowsNoCopiesDuringAWaitForACollective) {
  ProgramBuilder builder;
  builder.AddInstruction(10);
  builder.AddInstruction(5);
  builder.AddCollective(0, 1, 50);  // 10 cycles of it are hidden
  const Mapping in_hbm;
  const v1::DashboardMap map = MakeMap(builder.Build(), {.mapping = in_hbm}, view::Axis::kCycles);
  EXPECT_THAT(map.steps().wait_cycles(), ElementsAre(0, 40, 0));
  EXPECT_THAT(map.steps().wait_copy_share(), ElementsAre(0, 0, 0));
}

TEST(MemoryMap, ShowsTheWaitAtTheEndOfTheProgram) {
  ProgramBuilder builder;
  const BufferIndex made = builder.AddBuffer(1000, {.live_out = true});
  builder.AddInstruction(10, {Write(made)});
  builder.AddInstruction(5);
  Mapping mapping;
  mapping.in_fast_memory = {1};
  // HBM moves 50 of the 1000 bytes while the second instruction runs.
  mapping.intervals = {
      {.buffer = made, .first = 0, .last = 0, .copy_out_start = 1, .copy_out_done = 2}};
  const v1::DashboardMap map = MakeMap(builder.Build(), {.mapping = mapping}, view::Axis::kCycles);
  EXPECT_THAT(map.steps().wait_cycles(), ElementsAre(0, 0, 95));
  EXPECT_THAT(map.steps().wait_copy_share(), ElementsAre(0, 0, 1));
}

TEST(MemoryMap, GivesEachInstructionTheSameWidth) {
  const Mapping mapping = WithPrefetch();
  const v1::DashboardMap map = MakeMap(TwoSteps(), {.mapping = mapping}, view::Axis::kInstructions);
  EXPECT_THAT(map.steps().reached(), ElementsAre(0, 1, 2));
  EXPECT_EQ(map.end(), 2);
  EXPECT_EQ(map.cycles(), 130);
}

TEST(MemoryMap, ComparesWithTheDefault) {
  v1::Program proto = TwoSteps().proto();
  for (int a = 0; a < 3; ++a)
    proto.mutable_baseline()->mutable_mapping()->add_in_fast_memory(false);
  proto.mutable_baseline()->set_total_cycles(160);
  proto.mutable_baseline()->set_estimated_cycles(160);
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  const Mapping mapping = WithPrefetch();
  const v1::DashboardMap map = MakeMap(*program, {.mapping = mapping}, view::Axis::kCycles);
  EXPECT_THAT(map.buffer_gain(), ElementsAre(30, 0));
  ASSERT_FALSE(map.reasons().empty());
  EXPECT_EQ(map.reasons(0).cycles_gained(), 30);
  EXPECT_EQ(map.reasons(0).buffer(), 0);
}

TEST(UnpaddedBytes, LeavesOutThePaddingOfTiles) {
  EXPECT_EQ(UnpaddedBytes("bf16[8,100]{1,0:T(8,128)(2,1)}"), 1600);
  EXPECT_EQ(UnpaddedBytes("s4[3]"), 2);  // 12 bits
  EXPECT_EQ(UnpaddedBytes("f32[]"), 4);
  EXPECT_TRUE(std::isnan(UnpaddedBytes("(f32[2], f32[2])")));
  EXPECT_TRUE(std::isnan(UnpaddedBytes("no shape")));
}

}  // namespace
}  // namespace mallocmuzero
