// Gains worked out by hand on the chip of SmallHardware: 10 bytes of HBM bandwidth a cycle.

#include "view/explain.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/testing/random_case.h"

namespace mallocmuzero::view {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::RandomProgram;
using ::mallocmuzero::testing::RandomValidMapping;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Write;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kAll = 1000;

double Sum(const std::vector<Reason>& reasons) {
  double sum = 0;
  for (const Reason& reason : reasons) sum += reason.cycles_gained;
  return sum;
}

Mapping InFast(IndexVector<AccessIndex, uint8_t> in_fast_memory, std::vector<Interval> intervals) {
  return {std::move(intervals), std::move(in_fast_memory), "test"};
}

TEST(Explain, AccessesOfAnInstructionShareTheirCommonEffect) {
  // The instruction takes 100 cycles; a alone saves 30, b alone 20, both together 60. a saves 30 if
  // it comes first and 40 if it comes second, 35 on average; b saves 20 and 30, 25 on average. The
  // instruction runs three times.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(16, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(16, {.live_in = true});
  builder.BeginLoop(3);
  builder.AddObserved(builder.AddInstruction(100, {Read(a, 30), Read(b, 20)}), 0b11, 40);
  builder.EndLoop();
  const Program program = builder.Build();
  const Mapping ours = InFast({1, 1}, {{.buffer = a, .last = 2, .cross_program_prefetch = true},
                                       {.buffer = b, .last = 2, .offset = 16}});
  const std::vector<Reason> reasons = Explain(program, ours, AllHbmMapping(program), kAll);
  ASSERT_THAT(reasons, SizeIs(2));
  EXPECT_EQ(reasons[0].buffer, a);
  EXPECT_NEAR(reasons[0].cycles_gained, 3 * 35, 1e-9);
  EXPECT_EQ(reasons[1].buffer, b);
  EXPECT_NEAR(reasons[1].cycles_gained, 3 * 25, 1e-9);
  EXPECT_THAT(reasons[0].instructions, IndicesAre(1));
  EXPECT_THAT(reasons[0].why, HasSubstr("cross-program prefetch"));
  // With b in fast memory, a saves 80 - 40.
  EXPECT_THAT(reasons[0].why,
              HasSubstr("fusion.1 takes 40 cycles less with it in fast memory, 3 times"));
}

// The default has a tensor in fast memory that makes its reader slower: 4200 instead of 100 cycles.
TEST(Explain, SaysWhichInstructionWouldBeSlower) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(32);
  builder.AddInstruction(10, {Write(a, 4)});
  builder.AddInstruction(100, {Read(a, -4100)});
  builder.SetName(1, "fusion.12");
  const Program program = builder.Build();
  const Mapping reference = InFast({1, 1}, {{.buffer = a, .first = 0, .last = 1}});
  const std::vector<Reason> reasons = Explain(program, AllHbmMapping(program), reference, kAll);
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(reasons[0].cycles_gained, 4100 - 4);
  EXPECT_EQ(reasons[0].tensor, "value.0");
  EXPECT_EQ(reasons[0].shape, "u8[32]");
  EXPECT_EQ(reasons[0].bytes, 32);
  EXPECT_EQ(reasons[0].why,
            "stays in HBM for 1 read and 1 write, 64 B in all; fusion.12 would take 4,100 cycles "
            "more with it in fast memory");
}

TEST(Explain, SaysWhatATensorInHbmLeavesToOthersWhenItLoses) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(32);
  builder.AddInstruction(10, {Write(a, 4)});
  builder.AddInstruction(100, {Read(a, 50)});
  const Program program = builder.Build();
  const Mapping reference = InFast({1, 1}, {{.buffer = a, .first = 0, .last = 1}});
  const std::vector<Reason> reasons = Explain(program, AllHbmMapping(program), reference, kAll);
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(reasons[0].cycles_gained, -54);
  EXPECT_THAT(reasons[0].why, HasSubstr("leaves its 32 B of fast memory to others, from fusion.0 "
                                        "to fusion.1; fusion.1 would take 50 cycles less"));
}

TEST(Explain, TellsHowATensorComesIntoFastMemory) {
  // Instruction 0 uses 5 bytes of 10 cycles x 10 bytes, so that 95 of the copy's 400 bytes are
  // hidden behind it. The other 305 bytes take 30.5 cycles.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});
  builder.SetFixedHbmBytes(builder.AddInstruction(10), 5);
  builder.AddInstruction(100, {Read(weights, 60)});
  const Program program = builder.Build();
  const Mapping ours = InFast(
      {1}, {{.buffer = weights, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1}});
  const std::vector<Reason> reasons = Explain(program, ours, AllHbmMapping(program), kAll);
  ASSERT_THAT(reasons, SizeIs(2));
  EXPECT_EQ(reasons[0].cycles_gained, 60);
  EXPECT_EQ(
      reasons[0].why,
      "in fast memory from fusion.0 to fusion.1 instead of HBM: 1 read, 400 B in all; brought "
      "in behind 1 instruction, waited for 31 cycles; fusion.1 takes 60 cycles less with it "
      "in fast memory");
  EXPECT_EQ(reasons[1].kind, Reason::Kind::kStalls);
  EXPECT_EQ(reasons[1].cycles_gained, -30.5);
  EXPECT_EQ(reasons[1].why,
            "waits 31 cycles for copies instead of 0 cycles; the longest wait is 31 cycles for "
            "value.0 to come in before fusion.1");
}

TEST(Explain, TellsWaitsForCollectivesFromWaitsForCopies) {
  // The collective of 50 cycles starts with instruction 0, which hides 10 of them. In fast memory
  // the instruction hides 4.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(8, {.live_in = true});
  builder.AddInstruction(10, {Read(weights, 6)});
  builder.AddInstruction(10);
  builder.AddCollective(0, 1, 50);
  const Program program = builder.Build();
  const Mapping ours =
      InFast({1}, {{.buffer = weights, .first = 0, .last = 0, .cross_program_prefetch = true}});
  const std::vector<Reason> reasons = Explain(program, ours, AllHbmMapping(program), kAll);
  ASSERT_THAT(reasons, SizeIs(2));
  EXPECT_EQ(reasons[1].kind, Reason::Kind::kStalls);
  EXPECT_EQ(reasons[1].cycles_gained, -6);
  EXPECT_EQ(reasons[1].why, "waits 46 cycles for collectives instead of 40 cycles");
}

TEST(Explain, ListsATensorWhoseCopiesAloneDiffer) {
  // Each instruction of 10 cycles leaves 100 bytes. If the copy of 150 bytes is queued before
  // instruction 0, it is done in time; if it is queued before instruction 1, the program waits 5
  // cycles.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(150, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Read(weights)});
  const Program program = builder.Build();
  Interval early = {
      .buffer = weights, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 2};
  Interval late = early;
  late.first = 1;
  late.copy_in_start = 1;
  const std::vector<Reason> reasons =
      Explain(program, InFast({1}, {early}), InFast({1}, {late}), kAll);
  ASSERT_THAT(reasons, SizeIs(2));
  EXPECT_EQ(reasons[0].cycles_gained, 0);
  EXPECT_THAT(reasons[0].instructions, IsEmpty());
  EXPECT_EQ(reasons[0].why, "the same accesses in fast memory, held or copied at other times");
  EXPECT_EQ(reasons[1].cycles_gained, 5);
  // Another address alone is no difference.
  late = early;
  late.offset = 256;
  EXPECT_THAT(Explain(program, InFast({1}, {early}), InFast({1}, {late}), kAll), IsEmpty());
}

TEST(Explain, ListsTheLargestAndSumsUpTheOthers) {
  ProgramBuilder builder;
  for (const double savings : {5.0, -40.0, 30.0, 2.0}) {
    builder.AddInstruction(100, {Read(builder.AddBuffer(16, {.live_in = true}), savings)});
  }
  const Program program = builder.Build();
  const Mapping ours = InFast({1, 1, 1, 1}, {});
  const std::vector<Reason> reasons = Explain(program, ours, AllHbmMapping(program), 2);
  ASSERT_THAT(reasons, SizeIs(3));
  EXPECT_EQ(reasons[0].cycles_gained, -40);
  EXPECT_EQ(reasons[1].cycles_gained, 30);
  EXPECT_EQ(reasons[2].kind, Reason::Kind::kRest);
  EXPECT_EQ(reasons[2].cycles_gained, 7);
  EXPECT_EQ(reasons[2].why, "2 other tensors");
  EXPECT_THAT(Explain(program, ours, AllHbmMapping(program), 0), SizeIs(1));
}

TEST(Explain, HasNothingToSayOfAMappingAndItself) {
  std::mt19937_64 random(5);
  const Program program = RandomProgram(random);
  const Mapping mapping = RandomValidMapping(program, random);
  for (const Reason& reason : Explain(program, mapping, mapping, kAll)) {
    EXPECT_EQ(reason.kind, Reason::Kind::kStalls);
    EXPECT_EQ(reason.cycles_gained, 0);
  }
}

TEST(Explain, ReasonsAddUpToTheDifferenceOfTheTotals) {
  int buffers = 0;
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomProgram(random);
    const Mapping ours = RandomValidMapping(program, random);
    const Mapping reference = RandomValidMapping(program, random);
    const double total = Simulate(program, ours).total_cycles;
    const double reference_total = Simulate(program, reference).total_cycles;
    for (const int limit : {0, 3, kAll}) {
      const std::vector<Reason> reasons = Explain(program, ours, reference, limit);
      ASSERT_NEAR(Sum(reasons), reference_total - total, 1e-9 * (reference_total + total))
          << "seed " << seed << ", limit " << limit;
      std::set<BufferIndex> seen;
      for (const Reason& reason : reasons) {
        EXPECT_FALSE(reason.why.empty());
        if (reason.kind != Reason::Kind::kBuffer) continue;
        EXPECT_TRUE(seen.insert(reason.buffer).second);
        ++buffers;
      }
      EXPECT_LE(seen.size(), limit);
    }
  }
  EXPECT_GT(buffers, 1000);
}

TEST(Explain, SharesAddUpForManyDifferingAccessesToo) {
  // One instruction has twelve accesses; the floor of its latency makes their effects depend on
  // each other.
  std::mt19937_64 random(1);
  ProgramBuilder builder;
  std::vector<mallocmuzero::testing::AccessSpec> accesses;
  for (int k = 0; k < 12; ++k) {
    const BufferIndex buffer = builder.AddBuffer(16, {.live_in = true});
    accesses.push_back(Read(buffer, static_cast<double>(random() % 40)));
  }
  builder.SetBounds(builder.AddInstruction(200, accesses), 90, 1000);
  const Program program = builder.Build();
  const Mapping ours = InFast(IndexVector<AccessIndex, uint8_t>(12, 1), {});
  const std::vector<Reason> reasons = Explain(program, ours, AllHbmMapping(program), kAll);
  EXPECT_NEAR(Sum(reasons), 110, 1e-9);
}

}  // namespace
}  // namespace mallocmuzero::view
