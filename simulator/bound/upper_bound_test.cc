#include "simulator/bound/upper_bound.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "env/testing/random_game_program.h"
#include "env/testing/tiny_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Write;

// Rounding in sums of a few hundred terms.
constexpr double kRounding = 1e-9;

// The number of random programs of a test; more in long runs.
int ProgramCount(int usual) {
  const char* const count = std::getenv("MALLOCMUZERO_BOUND_PROGRAMS");
  return count == nullptr ? usual : std::atoi(count);
}

// The cycles that the solver's mapping saves against everything in HBM.
double SavedBy(absl::string_view solver, const PlayedProgram& played, const SolveOptions& options) {
  const absl::StatusOr<Solution> solution = Solve(solver, played.rules(), options);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? played.rules().all_hbm_cycles() - solution->cycles : 0;
}

TEST(UpperBound, IsAtLeastTheOptimumOfTinyPrograms) {
  std::mt19937_64 random(1);
  for (int k = 0; k < ProgramCount(150); ++k) {
    const std::unique_ptr<PlayedProgram> played =
        PlayedProgram::Create(testing::TinyProgram(random, 8));
    const double saved = SavedBy(solver_name::kExhaustive, *played, {});
    const UpperBound bound = FindUpperBound(played->program(), {.steps = 300});
    EXPECT_GE(bound.saved_cycles, saved * (1 - kRounding)) << "program " << k;
  }
}

// Programs with loops that carry values, updates, pairs of savings and a cross-program prefetch.
TEST(UpperBound, IsAtLeastTheBestKnownGameOfRandomPrograms) {
  std::mt19937_64 random(2);
  for (int k = 0; k < ProgramCount(100); ++k) {
    const std::unique_ptr<PlayedProgram> played =
        PlayedProgram::Create(testing::RandomGameProgram(random));
    const double saved = SavedBy(solver_name::kLocalSearch, *played, {.max_games = 50});
    const UpperBound bound = FindUpperBound(played->program(), {.steps = 300});
    EXPECT_GE(bound.saved_cycles, saved - kRounding * played->rules().all_hbm_cycles())
        << "program " << k;
  }
}

TEST(UpperBound, HoldsForMappingsThatCollectivesWaitBehind) {
  std::mt19937_64 random(5);
  for (int k = 0; k < ProgramCount(400); ++k) {
    const std::unique_ptr<PlayedProgram> played =
        PlayedProgram::Create(testing::RandomProgramWithCollectives(random));
    const double saved = SavedBy(solver_name::kLocalSearch, *played, {.max_games = 50});
    const UpperBound bound = FindUpperBound(played->program(), {.steps = 300});
    EXPECT_GE(bound.saved_cycles, saved - kRounding * played->rules().all_hbm_cycles())
        << "program " << k;
  }
}

// While the links work for 1000 cycles, nothing that the first two instructions save counts. The
// third one saves 20.
TEST(UpperBound, KnowsThatCollectivesHideWhatInstructionsSave) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(100, {Read(a, 30)});
  builder.AddInstruction(100, {Read(a, 30)});
  builder.AddInstruction(100, {Read(b, 20)});
  builder.AddCollective(0, 2, 1000);
  const UpperBound bound = FindUpperBound(builder.Build());
  EXPECT_NEAR(bound.saved_cycles, 20, 0.5);
  EXPECT_NEAR(bound.unlimited_saved_cycles, 20, 1e-6);
}

// Two values of 600 bytes in a memory of 1024: one of them can be in fast memory, and the better
// one saves 30 cycles.
TEST(UpperBound, KnowsThatTwoValuesDoNotFit) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(600);
  const BufferIndex b = builder.AddBuffer(600);
  builder.AddInstruction(1000, {Write(a, 10)});
  builder.AddInstruction(1000, {Write(b, 5)});
  builder.AddInstruction(1000, {Read(a, 20), Read(b, 15)});
  EXPECT_NEAR(FindUpperBound(builder.Build()).saved_cycles, 30, 0.5);
}

// The value of 600 bytes is there once, so the second instruction may both read and write it in
// fast memory.
TEST(UpperBound, CountsABufferThatAnInstructionReadsAndWritesOnce) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(600);
  builder.AddInstruction(1000, {Write(a, 10)});
  builder.AddInstruction(1000, {Read(a, 20), Write(a, 15)});
  EXPECT_GE(FindUpperBound(builder.Build()).saved_cycles, 45 * (1 - kRounding));
}

// A copy of 1000 bytes takes 100 cycles of HBM's 10 bytes a cycle, and nothing runs before the read
// that it could hide behind: waiting costs more than the 60 cycles that the read saves.
TEST(UpperBound, KnowsThatNoBandwidthIsLeftForACopy) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(1000, {.live_in = true});
  builder.AddInstruction(200, {Read(weights, 60)});
  EXPECT_NEAR(FindUpperBound(builder.Build()).saved_cycles, 0, 0.5);
}

// With 50 cycles before the read, half of the copy is free and the other half costs 50 cycles of
// waiting, which leaves 10 of the 60 cycles. The relaxation may also copy and use half of the
// value: it saves 30.
TEST(UpperBound, MayUseAFractionOfAValue) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(1000, {.live_in = true});
  builder.AddInstruction(50);
  builder.AddInstruction(200, {Read(weights, 60)});
  EXPECT_NEAR(FindUpperBound(builder.Build()).saved_cycles, 30, 0.5);
}

// A result must be in HBM at the end. 100 bytes take 10 cycles, for which the program waits.
TEST(UpperBound, CountsTheWriteBackOfAResult) {
  ProgramBuilder builder;
  const BufferIndex result = builder.AddBuffer(100, {.live_out = true});
  builder.AddInstruction(100, {Write(result, 25)});
  EXPECT_NEAR(FindUpperBound(builder.Build()).saved_cycles, 15, 0.5);
}

// A read of 16 bytes takes 1.6 cycles from HBM and 0.16 from fast memory. The values are written
// before, and all of them fit, so each of the 13 reads saves 1.44 cycles.
TEST(UpperBound, CountsAModelledInstructionWithManyAccesses) {
  ProgramBuilder builder;
  std::vector<testing::AccessSpec> reads;
  for (int k = 0; k < 13; ++k) {
    const BufferIndex value = builder.AddBuffer(16);
    builder.AddInstruction(10, {Write(value, 0)});
    reads.push_back(Read(value));
  }
  builder.AddModelled(1000, reads);
  const UpperBound bound = FindUpperBound(builder.Build());
  EXPECT_NEAR(bound.unlimited_saved_cycles, 13 * 1.44, 1e-6);
  EXPECT_GE(bound.saved_cycles, 13 * 1.44 * (1 - kRounding));
}

// Either input may be in fast memory when the program starts. A copy of the first one would take 40
// cycles before the only instruction; with the prefetch its read saves all of the 60.
TEST(UpperBound, KnowsThatAnyPrefetchOfTheBaselineMayBeKept) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(100, {Read(a, 60), Read(b, 0)});
  v1::Program proto = builder.BuildProto();
  v1::Mapping& baseline = *proto.mutable_baseline()->mutable_mapping();
  for (const BufferIndex buffer : {a, b}) {
    v1::Interval& interval = *baseline.add_intervals();
    interval.set_buffer(buffer.number());
    interval.set_offset(buffer == a ? 0 : 512);
    interval.set_cross_program_prefetch(true);
    baseline.add_in_fast_memory(true);
  }
  SealProgram(proto);
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  ASSERT_TRUE(program.ok()) << program.status();
  const std::unique_ptr<PlayedProgram> played = PlayedProgram::Create(*std::move(program));
  const UpperBound bound = FindUpperBound(played->program());
  EXPECT_GE(bound.saved_cycles, 60 * (1 - kRounding));
  const double saved = SavedBy(solver_name::kLocalSearch, *played, {.max_games = 50});
  EXPECT_GE(bound.saved_cycles, saved * (1 - kRounding));
}

// In each of four passes, the value of 1000 bytes saves 100 cycles in the first two instructions of
// the loop, where nothing else fits. Then a copy of the parameter hides behind an instruction, and
// its read saves 30. The live range of the parameter begins only with this read.
TEST(UpperBound, KnowsThatACopyOfAParameterMayBeginWithTheLoop) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(100);
  const BufferIndex parameter = builder.AddBuffer(100);
  const BufferIndex root = builder.AddBuffer(100);
  const BufferIndex result = builder.AddBuffer(100);
  const BufferIndex large = builder.AddBuffer(1000);
  builder.AddInstruction(10, {Write(initial)});
  const LoopIndex loop = builder.BeginLoop(4);
  builder.AddInstruction(100, {Write(large, 50)});
  builder.AddInstruction(100, {Read(large, 50)});
  builder.AddInstruction(100);
  builder.AddInstruction(50, {Read(parameter, 30)});
  builder.AddInstruction(10, {Write(root)});
  builder.EndLoop();
  builder.AddCarriedGroup(loop, initial, parameter, root, result);
  builder.AddInstruction(10, {Read(result)});
  const Program program = builder.Build();
  const Mapping mapping = {
      {{.buffer = large, .first = 2, .last = 3},
       {.buffer = parameter, .first = 4, .last = 5, .copy_in_start = 4, .copy_in_done = 5}},
      {0, 1, 1, 1, 0, 0},
      "test"};
  EXPECT_THAT(Validate(program, mapping), IsEmpty());
  EXPECT_EQ(SimulateAllHbm(program).total_cycles - Simulate(program, mapping).total_cycles, 520);
  EXPECT_GE(FindUpperBound(program).saved_cycles, 520 * (1 - kRounding));
}

// The value of 1000 bytes passes from its maker, which saves 50 cycles, to the loop, which saves 30
// in each of four passes, and back to its reader, which saves 20. During the loop its bytes are
// those of the parameter: 1024 bytes have no room for both buffers.
TEST(UpperBound, KnowsThatABufferIsNotHeldWhileALoopHasItsValue) {
  ProgramBuilder builder;
  const BufferIndex outside = builder.AddBuffer(1000);
  const BufferIndex inside = builder.AddBuffer(1000);
  builder.AddInstruction(100, {Write(outside, 50)});
  const LoopIndex loop = builder.BeginLoop(4);
  builder.AddInstruction(100, {Update(inside, 30)});
  builder.EndLoop();
  builder.AddInstruction(100, {Read(outside, 20)});
  builder.AddCarriedGroup(loop, outside, inside, inside, outside);
  const Program program = builder.Build();
  const Mapping mapping = {{{.buffer = outside, .first = 0, .last = 1},
                            {.buffer = inside, .first = 1, .last = 3},
                            {.buffer = outside, .first = 3, .last = 4}},
                           {1, 1, 1},
                           "test"};
  EXPECT_THAT(Validate(program, mapping), IsEmpty());
  EXPECT_EQ(SimulateAllHbm(program).total_cycles - Simulate(program, mapping).total_cycles, 190);
  EXPECT_GE(FindUpperBound(program).saved_cycles, 190 * (1 - kRounding));
}

TEST(UpperBound, IsTheSameForTheSameProgram) {
  std::mt19937_64 random(3);
  const Program program = testing::RandomGameProgram(random);
  EXPECT_EQ(FindUpperBound(program).saved_cycles, FindUpperBound(program).saved_cycles);
}

TEST(UpperBound, IsLooserButThereWhenTheDeadlineHasPassed) {
  std::mt19937_64 random(4);
  const Program program = testing::RandomGameProgram(random);
  const UpperBound late = FindUpperBound(program, {.deadline = absl::InfinitePast()});
  EXPECT_EQ(late.saved_cycles, FindUpperBound(program, {.steps = 0}).saved_cycles);
  EXPECT_GE(late.saved_cycles, FindUpperBound(program).saved_cycles);
}

// The first prices pay each of two reads the 3 cycles that it saves alone, but both together save
// no more. A search without time leaves the dual at 6 cycles.
TEST(UpperBound, IsNeverMoreThanAMemoryWithoutLimitsSaves) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100);
  const BufferIndex b = builder.AddBuffer(100);
  builder.AddInstruction(10, {Write(a, 0)});
  builder.AddInstruction(10, {Write(b, 0)});
  builder.SetBounds(builder.AddInstruction(10, {Read(a, 3), Read(b, 3)}), 7, 10);
  const UpperBound late = FindUpperBound(builder.Build(), {.deadline = absl::InfinitePast()});
  EXPECT_NEAR(late.unlimited_saved_cycles, 3, 1e-6);
  EXPECT_LE(late.saved_cycles, late.unlimited_saved_cycles);
}

TEST(UpperBound, OfAProgramWithoutAccessesIsZero) {
  ProgramBuilder builder;
  builder.AddInstruction(10);
  EXPECT_EQ(FindUpperBound(builder.Build()).saved_cycles, 0);
}

}  // namespace
}  // namespace mallocmuzero
