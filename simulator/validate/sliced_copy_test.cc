// Tests of copies in slices. Each slice occupies its bytes from its own start on.

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// A buffer of 128 bytes is copied in by two slices, of 64 bytes at 0 and 64 at 2. A buffer of 64
// bytes is at `offset` and is read at 0 and 1.
class SlicedCopyTest : public ::testing::Test {
 protected:
  static std::vector<Violation> Violations(int64_t offset, std::vector<CopySlice> slices) {
    ProgramBuilder builder;
    const BufferIndex early = builder.AddBuffer(64);
    const BufferIndex sliced = builder.AddBuffer(128, {.live_in = true});
    builder.AddInstruction(10, {Write(early)});
    builder.AddInstruction(10, {Read(early)});
    builder.AddInstruction(10);
    builder.AddInstruction(10, {Read(sliced)});
    const Program program = builder.Build();
    const Interval short_stay{.buffer = early, .first = 0, .last = 1, .offset = offset};
    const Interval copied{.buffer = sliced,
                          .first = 0,
                          .last = 3,
                          .copy_in_start = 0,
                          .copy_in_done = 3,
                          .copy_in_slices = std::move(slices)};
    return Validate(program, MakeMapping(program, {short_stay, copied}, {0, 1, 2}));
  }
};

TEST_F(SlicedCopyTest, TakesTheBytesOfASliceFromItsOwnStart) {
  EXPECT_THAT(Violations(64, {{0, 64}, {2, 64}}), IsEmpty());
  EXPECT_THAT(Violations(64, {{0, 64}, {1, 64}}), BreaksOnly(Rule::kOverlap));
  EXPECT_THAT(Violations(0, {{0, 64}, {2, 64}}), BreaksOnly(Rule::kOverlap));
}

TEST_F(SlicedCopyTest, ComparesEachOfManySlices) {
  std::vector<CopySlice> slices(128, {.start = 0, .bytes = 1});
  for (size_t byte = 48; byte < 128; ++byte) slices[byte].start = 2;
  EXPECT_THAT(Violations(48, slices), IsEmpty());
  slices[48].start = 0;  // one byte is occupied while the other interval has it
  EXPECT_THAT(Violations(48, slices), BreaksOnly(Rule::kOverlap));
  EXPECT_THAT(Violations(64, slices), IsEmpty());
}

TEST_F(SlicedCopyTest, ReportsSlicesThatDoNotFillTheBufferInOrder) {
  EXPECT_THAT(Violations(128, {{0, 64}, {2, 32}}), BreaksOnly(Rule::kCopyPositions));
  EXPECT_THAT(Violations(128, {{0, 64}, {2, 96}}), BreaksOnly(Rule::kCopyPositions));
  EXPECT_THAT(Violations(128, {{1, 64}, {2, 64}}), BreaksOnly(Rule::kCopyPositions));
  EXPECT_THAT(Violations(128, {{0, 64}, {4, 64}}), BreaksOnly(Rule::kCopyPositions));
  EXPECT_THAT(Violations(128, {{0, 64}, {1, 0}, {2, 64}}), BreaksOnly(Rule::kCopyPositions));
}

// A buffer of 128 bytes is copied in by two slices of 64 bytes, the second one at `second`, and is
// read by 2. An instruction's result of 64 bytes is written back at 1, in the bytes of the second
// slice.
TEST(SlicedCopies, TakeBytesWhenTheirSliceIsQueued) {
  ProgramBuilder builder;
  const BufferIndex written = builder.AddBuffer(64, {.live_out = true});
  const BufferIndex sliced = builder.AddBuffer(128, {.live_in = true});
  builder.AddInstruction(10, {Write(written)});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(sliced)});
  const Program program = builder.Build();
  const auto violations = [&](InstructionIndex second) {
    const Interval write_back{.buffer = written,
                              .first = 0,
                              .last = 0,
                              .offset = 64,
                              .copy_out_start = 1,
                              .copy_out_done = 1};
    const Interval copied{.buffer = sliced,
                          .first = 0,
                          .last = 2,
                          .copy_in_start = 0,
                          .copy_in_done = 2,
                          .copy_in_slices = {{0, 64}, {second, 64}}};
    return Validate(program, MakeMapping(program, {write_back, copied}, {0, 1}));
  };
  EXPECT_THAT(violations(2), IsEmpty());
  // The slice and the write-back are queued at one point, and the slice may be faster.
  EXPECT_THAT(violations(1), BreaksOnly(Rule::kOverlap));
}

// The last slice is queued at the point at which the program waits for the copy. A write-back that
// is queued there beside it does not have the value yet.
TEST(SlicedCopies, AreNotThereBeforeTheirLastSliceIsQueued) {
  ProgramBuilder builder;
  const BufferIndex sliced = builder.AddBuffer(128, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(sliced)});
  builder.AddInstruction(10, {Read(sliced)});
  const Program program = builder.Build();
  const auto violations = [&](InstructionIndex second) {
    return Validate(program, MakeMapping(program,
                                         {{.buffer = sliced,
                                           .first = 0,
                                           .last = 2,
                                           .copy_in_start = 0,
                                           .copy_in_done = 1,
                                           .copy_out_start = 1,
                                           .copy_out_done = 2,
                                           .copy_in_slices = {{0, 64}, {second, 64}}}},
                                         {0, 1}));
  };
  EXPECT_THAT(violations(0), IsEmpty());
  EXPECT_THAT(violations(1), BreaksOnly(Rule::kCopySourceStale));
}

// Every pass of a loop would copy a slice that starts in it, but the wait is behind the loop:
//   0: nothing  1: begin  2: nothing  3: end  4: read
TEST(SlicedCopies, StartAllTheirSlicesInTheLoopInWhichTheyEnd) {
  ProgramBuilder builder;
  const BufferIndex sliced = builder.AddBuffer(128, {.live_in = true});
  builder.AddInstruction(10);
  builder.BeginLoop(5);
  builder.AddInstruction(10);
  builder.EndLoop();
  builder.AddInstruction(10, {Read(sliced)});
  const Program program = builder.Build();
  const auto violations = [&](InstructionIndex second) {
    return Validate(program, MakeMapping(program,
                                         {{.buffer = sliced,
                                           .first = 0,
                                           .last = 4,
                                           .copy_in_start = 0,
                                           .copy_in_done = 4,
                                           .copy_in_slices = {{0, 64}, {second, 64}}}},
                                         {0}));
  };
  // The point before the begin marker is outside the loop, the point before the end marker inside.
  EXPECT_THAT(violations(1), IsEmpty());
  EXPECT_THAT(violations(2), BreaksOnly(Rule::kCopyAcrossLoop));
  EXPECT_THAT(violations(3), BreaksOnly(Rule::kCopyAcrossLoop));
  EXPECT_THAT(violations(4), IsEmpty());
}

// Two intervals of 2^16 slices each form 2^32 pairs of slices, most of which have no byte in
// common.
TEST(SlicedCopies, OfManySlicesAreComparedInOnePass) {
  constexpr int64_t kSlices = 1 << 16;
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(4 * kSlices);
  const BufferIndex low = builder.AddBuffer(kSlices, {.live_in = true});
  const BufferIndex high = builder.AddBuffer(kSlices, {.live_in = true});
  builder.AddInstruction(10, {Read(low), Read(high)});
  const Program program = builder.Build();
  const std::vector<CopySlice> slices(kSlices, {.start = 0, .bytes = 1});
  const auto copied = [&](BufferIndex buffer, int64_t offset) {
    return Interval{.buffer = buffer,
                    .offset = offset,
                    .copy_in_start = 0,
                    .copy_in_done = 0,
                    .copy_in_slices = slices};
  };
  const auto violations = [&](int64_t offset) {
    return Validate(program, MakeMapping(program, {copied(low, 0), copied(high, offset)}, {0, 1}));
  };
  EXPECT_THAT(violations(kSlices), IsEmpty());
  EXPECT_THAT(violations(kSlices - 16), BreaksOnly(Rule::kOverlap));
}

}  // namespace
}  // namespace mallocmuzero::validate
