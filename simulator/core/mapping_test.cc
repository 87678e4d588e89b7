#include "simulator/core/mapping.h"

#include <functional>
#include <string>
#include <vector>

#include "base/message_file.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Write;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProgramBuilder TwoInstructions() {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex result = builder.AddBuffer(50, {.live_out = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(weights, 5), Write(result, 1)});
  return builder;
}

Mapping FullMapping() {
  Mapping mapping;
  mapping.intervals.push_back(
      {.buffer = 0, .first = 0, .last = 1, .offset = 0, .copy_in_start = 0, .copy_in_done = 1});
  mapping.intervals.push_back(
      {.buffer = 1, .first = 1, .last = 1, .offset = 112, .copy_out_start = 2, .copy_out_done = 2});
  mapping.in_fast_memory = {1, 1};
  mapping.solver = "test";
  return mapping;
}

TEST(Mapping, SurvivesItsMessage) {
  const Program program = TwoInstructions().Build();
  Mapping mapping = FullMapping();
  mapping.intervals[0].cross_program_prefetch = true;
  const absl::StatusOr<Mapping> back = MappingFromProto(MappingToProto(mapping, program), program);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, mapping);
}

TEST(Mapping, SurvivesBinaryAndTextFiles) {
  const Program program = TwoInstructions().Build();
  for (const char* name : {"/m.mapping", "/m.mapping.zst", "/m.textproto", "/m.textproto.zst"}) {
    const std::string path = ::testing::TempDir() + name;
    ASSERT_TRUE(WriteMessage(path, MappingToProto(FullMapping(), program)).ok());
    const absl::StatusOr<Mapping> back = LoadMapping(path, program);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, FullMapping());
  }
}

TEST(Mapping, AllHbmHasNoIntervals) {
  const Program program = TwoInstructions().Build();
  const Mapping mapping = AllHbmMapping(program);
  EXPECT_TRUE(mapping.intervals.empty());
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 0));
}

TEST(Mapping, OfAnotherProgramIsRefused) {
  const Program program = TwoInstructions().Build();
  ProgramBuilder other = TwoInstructions();
  other.AddInstruction(1);
  const absl::Status status =
      MappingFromProto(MappingToProto(FullMapping(), program), other.Build()).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("program_sha256: the mapping is for another program: "));
}

TEST(Mapping, NamesTheFieldThatIsWrong) {
  const Program program = TwoInstructions().Build();
  const auto error = [&](const std::function<void(v1::Mapping&)>& change) {
    v1::Mapping proto = MappingToProto(FullMapping(), program);
    change(proto);
    return std::string(MappingFromProto(proto, program).status().message());
  };
  EXPECT_EQ(error([](v1::Mapping& m) { m.add_in_fast_memory(true); }),
            "in_fast_memory: 2 entries, one for each access, expected, found 3");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(0)->set_buffer(2); }),
            "intervals[0].buffer: an index below 2 expected, found 2");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(0)->set_last(2); }),
            "intervals[0].last: an index below 2 expected, found 2");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(1)->set_first(4000000000u); }),
            "intervals[1].first: 0 to 1 expected, found 4000000000");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(0)->set_offset(-16); }),
            "intervals[0].offset: 0 to 1125899906842624 expected, found -16");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(0)->clear_copy_in_done(); }),
            "intervals[0].copy_in_start: start and done, or neither, expected, found one of them");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(0)->set_copy_in_done(2); }),
            "intervals[0].copy_in_done: 0 to 1 expected, found 2");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(1)->set_copy_out_done(3); }),
            "intervals[1].copy_out_done: 0 to 2 expected, found 3");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals(1)->set_copy_out_done(1); }),
            "intervals[1].copy_out_start: 0 to 1 expected, found 2");
  EXPECT_EQ(error([](v1::Mapping& m) { m.mutable_intervals()->SwapElements(0, 1); }),
            "intervals[1]: ascending order of (first, buffer) expected");
}

TEST(Mapping, SlicesMustMakeUpTheCopy) {
  const Program program = TwoInstructions().Build();
  const auto read = [&](const std::vector<CopySlice>& slices, InstructionIndex copy_in_start = 0) {
    Mapping mapping = FullMapping();
    mapping.intervals[0].copy_in_start = copy_in_start;
    if (copy_in_start < 0) mapping.intervals[0].copy_in_done = -1;
    mapping.intervals[0].copy_in_slices = slices;
    return MappingFromProto(MappingToProto(mapping, program), program);
  };
  const absl::StatusOr<Mapping> valid = read({{0, 60}, {1, 40}});
  ASSERT_TRUE(valid.ok()) << valid.status();
  EXPECT_EQ(valid->intervals[0].copy_in_slices, std::vector<CopySlice>({{0, 60}, {1, 40}}));
  const std::string field = "intervals[0].copy_in_slices";
  EXPECT_EQ(read({{0, 60}, {1, 30}}).status().message(),
            field + ": the buffer's 100 bytes in all expected, found 90");
  EXPECT_EQ(read({{0, 60}, {1, 50}}).status().message(),
            field + "[1].bytes: 1 to 40 expected, found 50");
  EXPECT_EQ(read({{1, 100}}).status().message(), field + "[0].start: 0 to 0 expected, found 1");
  EXPECT_EQ(read({{0, 60}, {2, 40}}).status().message(),
            field + "[1].start: 0 to 1 expected, found 2");
  EXPECT_EQ(read({{0, 60}, {1, 30}, {0, 10}}).status().message(),
            field + "[2].start: 1 to 1 expected, found 0");
  EXPECT_EQ(read({{0, 0}, {1, 100}}).status().message(),
            field + "[0].bytes: 1 to 100 expected, found 0");
  EXPECT_EQ(read({{0, 100}}, -1).status().message(),
            field + ": copy_in_start expected with slices");
}

TEST(Mapping, SortIntervalsOrdersByFirstAndBuffer) {
  Mapping mapping;
  mapping.intervals = {
      {.buffer = 3, .first = 2}, {.buffer = 5, .first = 1}, {.buffer = 1, .first = 2}};
  SortIntervals(mapping);
  EXPECT_EQ(mapping.intervals[0].buffer, 5);
  EXPECT_EQ(mapping.intervals[1].buffer, 1);
  EXPECT_EQ(mapping.intervals[2].buffer, 3);
}

TEST(Mapping, MergeIntervalsKeepsTheOrder) {
  Mapping mapping;
  mapping.intervals = {
      {.buffer = 5, .first = 1}, {.buffer = 3, .first = 2, .last = 8}, {.buffer = 1, .first = 4}};
  MergeIntervals({{.buffer = 2, .first = 0}, {.buffer = 3, .first = 2}, {.buffer = 0, .first = 5}},
                 mapping);
  std::vector<uint32_t> buffers;
  for (const Interval& interval : mapping.intervals) buffers.push_back(interval.buffer.number());
  EXPECT_THAT(buffers, ElementsAre(2, 5, 3, 3, 1, 0));
  EXPECT_EQ(mapping.intervals[2].last, 8);  // the one that was there before
}

TEST(Mapping, BaselineIsReadFromTheProgram) {
  EXPECT_TRUE(absl::IsNotFound(BaselineMapping(TwoInstructions().Build()).status()));
  v1::Program proto = TwoInstructions().BuildProto();
  *proto.mutable_baseline()->mutable_mapping() =
      MappingToProto(FullMapping(), TwoInstructions().Build());
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<Mapping> baseline = BaselineMapping(*program);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  EXPECT_EQ(*baseline, FullMapping());
}

}  // namespace
}  // namespace mallocmuzero
