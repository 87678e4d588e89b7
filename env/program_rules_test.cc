#include "env/program_rules.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "base/testing/index_matching.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Write;

constexpr int32_t kNone = ProgramRules::kNone;

TEST(ProgramRules, RoundsBuffersUpToTheAlignment) {
  ProgramBuilder builder;
  builder.AddBuffer(16, {.live_in = true});
  builder.AddBuffer(17, {.live_in = true});
  builder.AddInstruction(10, {Read(0), Read(1)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_EQ(rules.buffer(0).bytes, 16);
  EXPECT_EQ(rules.buffer(1).bytes, 32);
}

// 0, loop 1-7 [2, loop 3-5 [4], 6], 8
class NestedLoops : public ::testing::Test {
 protected:
  static constexpr int32_t kOuter = 0;
  static constexpr int32_t kInner = 1;

  static Program Make() {
    ProgramBuilder builder;
    builder.AddBuffer(16, {.live_in = true});
    builder.AddInstruction(10);
    builder.BeginLoop(2);
    builder.AddInstruction(10);
    builder.BeginLoop(3);
    builder.AddInstruction(10, {Read(0)});
    builder.EndLoop();
    builder.AddInstruction(10);
    builder.EndLoop();
    builder.AddInstruction(10);
    return builder.Build();
  }

  const Program program_ = Make();
  const ProgramRules rules_ = EverythingMatters(program_);
};

TEST_F(NestedLoops, AreInEachOther) {
  EXPECT_TRUE(rules_.IsInLoop(kInner, kOuter));
  EXPECT_TRUE(rules_.IsInLoop(kInner, kNone));
  EXPECT_TRUE(rules_.IsInLoop(kNone, kNone));
  EXPECT_FALSE(rules_.IsInLoop(kOuter, kInner));
  EXPECT_FALSE(rules_.IsInLoop(kNone, kOuter));
  EXPECT_EQ(rules_.ChildLoop(kInner, kNone), kOuter);
  EXPECT_EQ(rules_.ChildLoop(kInner, kOuter), kInner);
}

TEST_F(NestedLoops, KeepAValueUpToTheEndOfTheLoopsThatDoNotMakeIt) {
  EXPECT_EQ(rules_.SpanEnd(4, kInner), 4);
  EXPECT_EQ(rules_.SpanEnd(4, kOuter), 5);
  EXPECT_EQ(rules_.SpanEnd(4, kNone), 7);
  EXPECT_EQ(rules_.SpanEnd(8, kNone), 8);
}

TEST_F(NestedLoops, HaveTheirOwnPointsForCopies) {
  EXPECT_EQ(rules_.PointInLoop(4, kInner), 4);
  EXPECT_EQ(rules_.PointInLoop(4, kOuter), 3);  // just before the inner loop
  EXPECT_EQ(rules_.PointInLoop(5, kOuter), 3);  // the end of the inner body is in the inner loop
  EXPECT_EQ(rules_.PointInLoop(6, kOuter), 6);
  EXPECT_EQ(rules_.PointInLoop(4, kNone), 1);
  EXPECT_EQ(rules_.PointInLoop(8, kNone), 8);
  EXPECT_EQ(rules_.PointInLoop(0, kOuter), kNone);
  EXPECT_EQ(rules_.LoopOfMarker(3), kInner);
  EXPECT_EQ(rules_.LoopOfMarker(7), kOuter);
  EXPECT_EQ(rules_.LoopOfMarker(4), kNone);
}

// The rule of the first of some accesses to one buffer. Each access has its own instruction.
ProgramRules::AccessRule RuleOfFirst(testing::BufferSpec spec,
                                     const std::vector<testing::AccessSpec>& accesses) {
  ProgramBuilder builder;
  builder.AddBuffer(16, spec);
  for (const testing::AccessSpec& access : accesses) builder.AddInstruction(10, {access});
  const Program program = builder.Build();
  return EverythingMatters(program).access(0);
}

TEST(ProgramRules, AValueInFastMemoryOnlyStaysUpToItsLastRead) {
  const auto rule = RuleOfFirst({}, {Write(0), Read(0), Read(0)});
  EXPECT_EQ(rule.keep_until, 2);
  EXPECT_EQ(rule.keep_until_end, 2);
  EXPECT_EQ(rule.next_access, 1);
}

TEST(ProgramRules, AValueStaysUpToItsUpdate) {
  const auto rule = RuleOfFirst({}, {Write(0), Read(0), Update(0), Read(0)});
  EXPECT_EQ(rule.keep_until, 2);
  EXPECT_EQ(rule.keep_until_end, 3);
}

TEST(ProgramRules, AWriteEndsTheValue) {
  const auto rule = RuleOfFirst({.live_out = true}, {Write(0), Read(0), Write(0), Read(0)});
  EXPECT_EQ(rule.keep_until, 1);
  EXPECT_EQ(rule.keep_until_end, 1);
}

TEST(ProgramRules, AValueWithoutUsesIsNotMadeInFastMemory) {
  const auto rule = RuleOfFirst({}, {Write(0), Write(0)});
  EXPECT_EQ(rule.keep_until, kNone);
  EXPECT_EQ(rule.copy_until, kNone);
}

TEST(ProgramRules, TheLastValueOfALiveOutMustReachHbm) {
  EXPECT_EQ(RuleOfFirst({.live_out = true}, {Write(0), Read(0)}).keep_until, kNone);
  // An update may still write it back.
  const auto rule = RuleOfFirst({.live_out = true}, {Write(0), Update(0)});
  EXPECT_EQ(rule.keep_until, 1);
  EXPECT_EQ(rule.keep_until_end, kNone);
}

TEST(ProgramRules, AReadKeepsNothing) {
  EXPECT_EQ(RuleOfFirst({.live_in = true}, {Read(0), Read(0)}).keep_until, kNone);
}

// One loop, 1 to 4: 0 writes the initial value, 2 reads the parameter, 3 writes the root, 5 reads
// the result.
class Carried : public ::testing::Test {
 protected:
  static constexpr BufferIndex kInitial = 0, kParameter = 1, kRoot = 2, kResult = 3;

  struct Variant {
    int64_t root_bytes = 16;
    testing::BufferSpec initial;
    testing::BufferSpec result;
    bool parameter_after_root = false;
    bool initial_after_loop = false;
    bool result_updated = false;
  };

  void Make(const Variant& variant) {
    ProgramBuilder builder;
    builder.AddBuffer(16, variant.initial);
    builder.AddBuffer(16);
    builder.AddBuffer(variant.root_bytes);
    builder.AddBuffer(16, variant.result);
    builder.AddInstruction(10, {Write(kInitial)});
    const LoopIndex loop = builder.BeginLoop(2);
    builder.AddInstruction(10, {Read(kParameter)});
    builder.AddInstruction(10, {Write(kRoot)});
    if (variant.parameter_after_root) builder.AddInstruction(10, {Read(kParameter)});
    builder.EndLoop();
    builder.AddInstruction(10, {variant.result_updated ? Update(kResult) : Read(kResult)});
    if (variant.initial_after_loop) builder.AddInstruction(10, {Read(kInitial)});
    builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
    program_ = std::make_unique<Program>(builder.Build());
    rules_ = std::make_unique<ProgramRules>(EverythingMatters(*program_));
  }

  const ProgramRules& rules() const { return *rules_; }

 private:
  std::unique_ptr<const Program> program_;
  std::unique_ptr<const ProgramRules> rules_;
};

TEST_F(Carried, CommitsItsInitialValueUpToTheResultsLastUse) {
  Make({});
  EXPECT_TRUE(rules().group(0).may_be_fast);
  EXPECT_EQ(rules().group(0).keep_until, 5);
  EXPECT_FALSE(rules().group(0).writes_back);
  EXPECT_EQ(rules().access(0).feeds_group, 0);
  EXPECT_EQ(rules().access(0).keep_until, 5);
  EXPECT_EQ(rules().access(1).take_over, 0);
  EXPECT_EQ(rules().access(2).keep_until, kNone);  // in HBM the next pass needs the root there
  EXPECT_EQ(rules().GroupInside(kParameter), 0);
  EXPECT_EQ(rules().GroupInside(kRoot), 0);
  EXPECT_EQ(rules().GroupInside(kInitial), kNone);
  EXPECT_THAT(rules().GroupsOfLoop(0), IndicesAre(0));
  EXPECT_EQ(rules().buffer(kParameter).defining_loop, 0);
  EXPECT_EQ(rules().buffer(kParameter).available, 2);
  EXPECT_EQ(rules().buffer(kResult).defining_loop, kNone);
  EXPECT_EQ(rules().buffer(kResult).available, 5);
}

TEST_F(Carried, ALiveOutResultIsKeptForItsWriteBack) {
  Make({.result = {.live_out = true}});
  EXPECT_TRUE(rules().group(0).writes_back);
  EXPECT_EQ(rules().group(0).keep_until, 4);
}

TEST_F(Carried, AnUpdateOfALiveOutResultWritesItBackItself) {
  Make({.result = {.live_out = true}, .result_updated = true});
  EXPECT_FALSE(rules().group(0).writes_back);
  EXPECT_EQ(rules().group(0).keep_until, 5);
}

TEST_F(Carried, StaysInHbmIfItsBuffersDifferInSize) {
  Make({.root_bytes = 32});
  EXPECT_FALSE(rules().group(0).may_be_fast);
  EXPECT_EQ(rules().access(0).keep_until, kNone);
}

TEST_F(Carried, StaysInHbmIfTheParameterIsUsedAfterTheRootIsMade) {
  Make({.parameter_after_root = true});
  EXPECT_FALSE(rules().group(0).may_be_fast);
}

TEST_F(Carried, StaysInHbmIfTheInitialValueIsUsedAfterwards) {
  Make({.initial_after_loop = true});
  EXPECT_FALSE(rules().group(0).may_be_fast);
}

TEST_F(Carried, StaysInHbmIfTheInitialValueIsLiveOut) {
  Make({.initial = {.live_out = true}});
  EXPECT_FALSE(rules().group(0).may_be_fast);
}

TEST(ProgramRules, KeepsThePrefetchOfTheBaseline) {
  ProgramBuilder builder;
  builder.AddBuffer(16, {.live_in = true});
  for (int i = 0; i < 3; ++i) builder.AddInstruction(10, {Read(0)});
  v1::Program proto = builder.BuildProto();
  v1::Mapping& mapping = *proto.mutable_baseline()->mutable_mapping();
  for (const bool fast : {true, false, true}) mapping.add_in_fast_memory(fast);
  v1::Interval& interval = *mapping.add_intervals();
  interval.set_last(1);
  interval.set_cross_program_prefetch(true);
  SealProgram(proto);
  const Program program = *Program::FromProto(std::move(proto));
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_EQ(rules.prefetch().buffer, 0);
  EXPECT_EQ(rules.prefetch().last, 1);
  EXPECT_TRUE(rules.UsesPrefetch(0));
  EXPECT_FALSE(rules.UsesPrefetch(1));  // the baseline leaves it in HBM
  EXPECT_FALSE(rules.UsesPrefetch(2));  // the stay has ended
}

// The loop gives the buffer another value while the baseline has the old one in fast memory.
TEST(ProgramRules, KeepsNoPrefetchOfABufferThatALoopChanges) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(16);
  const BufferIndex parameter = builder.AddBuffer(16, {.live_in = true});
  const BufferIndex result = builder.AddBuffer(16);
  builder.AddInstruction(10, {Read(parameter), Write(initial)});
  const LoopIndex loop = builder.BeginLoop(2);
  builder.AddInstruction(10, {Read(parameter)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(result)});
  builder.AddCarriedGroup(loop, initial, parameter, parameter, result);
  v1::Program proto = builder.BuildProto();
  v1::Mapping& mapping = *proto.mutable_baseline()->mutable_mapping();
  for (const bool fast : {true, false, true, false}) mapping.add_in_fast_memory(fast);
  v1::Interval& interval = *mapping.add_intervals();
  interval.set_buffer(parameter.number());
  interval.set_last(3);
  interval.set_cross_program_prefetch(true);
  SealProgram(proto);
  const Program program = *Program::FromProto(std::move(proto));
  EXPECT_EQ(EverythingMatters(program).prefetch().buffer, kNone);
}

// It would need its old and its new value at one time.
TEST(ProgramRules, ABufferThatAnInstructionReadsAndWritesAnewStaysInHbm) {
  ProgramBuilder builder;
  builder.AddBuffer(16, {.live_in = true});
  builder.AddBuffer(16, {.live_in = true});
  builder.AddInstruction(10, {Read(0), Read(1), Write(0)});
  builder.AddInstruction(10, {Read(0), Update(1)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_TRUE(rules.buffer(0).stays_in_hbm);
  EXPECT_FALSE(rules.buffer(1).stays_in_hbm);
}

TEST(ProgramRules, PricesEverythingInHbm) {
  ProgramBuilder builder;
  builder.AddInstruction(30);
  builder.BeginLoop(10);
  builder.AddInstruction(7);
  builder.EndLoop();
  const Program program = builder.Build();
  EXPECT_EQ(EverythingMatters(program).all_hbm_cycles(), 100);
}

}  // namespace
}  // namespace mallocmuzero
