// Which arrays of asynchronous collectives may be in fast memory, and which accesses they have.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MustAnalyze;
using testing::SmallHardware;

v1::Program AssembleLinked(const std::string& text) {
  v1::Hardware hardware = SmallHardware();
  hardware.set_link_bytes_per_cycle(16);
  return Assemble(*MustAnalyze(text), hardware).program;
}

uint32_t InstructionOf(const v1::Program& program, const std::string& name) {
  for (int i = 0; i < program.instructions_size(); ++i) {
    if (program.instructions(i).name() == name) return i;
  }
  ADD_FAILURE() << "no instruction " << name;
  return 0;
}

// The buffer of the array at an element of an instruction's result.
uint32_t BufferAt(const v1::Program& program, const std::string& name,
                  const std::vector<uint32_t>& index = {}) {
  for (const v1::Tensor& tensor : program.tensors()) {
    const bool same = std::equal(tensor.tuple_index().begin(), tensor.tuple_index().end(),
                                 index.begin(), index.end());
    if (tensor.instruction_name() == name && same) return tensor.buffer();
  }
  ADD_FAILURE() << "no tensor " << name;
  return 0;
}

// The only access of an instruction to a buffer.
v1::Access AccessTo(const v1::Program& program, uint32_t buffer, const std::string& instruction) {
  std::vector<v1::Access> found;
  for (const v1::Access& access : program.accesses()) {
    if (access.buffer() == buffer && access.instruction() == InstructionOf(program, instruction)) {
      found.push_back(access);
    }
  }
  EXPECT_EQ(found.size(), 1) << instruction;
  return found.empty() ? v1::Access() : found[0];
}

bool IsPinned(const v1::Program& program, uint32_t buffer) {
  return program.buffers(buffer).pinned_to_hbm();
}

TEST(AssembleInFlight, AGatherReadsItsOperandAndWritesItsResultFromStartToDone) {
  const v1::Program program = AssembleLinked(
      hlo::EntryModule("%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n"
                       "%s = (f32[64], f32[128]) all-gather-start(%b), dimensions={0}, "
                       "replica_groups={{0,1}}\n%c = f32[64] abs(%a)\n"
                       "%d = f32[128] all-gather-done(%s)\nROOT %e = f32[128] negate(%d)"));
  ASSERT_EQ(program.collectives_size(), 1);
  const v1::Collective& gather = program.collectives(0);
  EXPECT_EQ(gather.name(), "s");
  EXPECT_EQ(gather.start(), InstructionOf(program, "s"));
  EXPECT_EQ(gather.done(), InstructionOf(program, "d"));
  EXPECT_EQ(gather.cycles(), 512. / 2 / 16);
  const uint32_t shard = BufferAt(program, "b");
  const uint32_t whole = BufferAt(program, "s", {1});
  EXPECT_THAT(gather.buffers(), ElementsAre(shard, whole));
  EXPECT_FALSE(IsPinned(program, shard));
  EXPECT_FALSE(IsPinned(program, whole));
  // The start names its operand as an element of its result, without writing it.
  EXPECT_EQ(AccessTo(program, shard, "s").kind(), v1::Access::READ);
  EXPECT_EQ(AccessTo(program, shard, "s").positions_size(), 2);
  EXPECT_EQ(AccessTo(program, whole, "s").kind(), v1::Access::WRITE);
  EXPECT_EQ(AccessTo(program, shard, "d").kind(), v1::Access::READ);
  EXPECT_EQ(AccessTo(program, whole, "d").kind(), v1::Access::UPDATE);
  EXPECT_EQ(AccessTo(program, whole, "e").kind(), v1::Access::READ);
  for (const char* end : {"s", "d"}) {
    EXPECT_EQ(AccessTo(program, whole, end).bytes_accessed(), 0) << end;
  }
  EXPECT_THAT(program.notes(), IsEmpty());
  EXPECT_EQ(program.hardware().link_bytes_per_cycle(), 16);
}

// A module with the chain of fusions that libtpu writes for v5e: `begin`, `between`, `end`.
std::string ChainModule(const std::string& entry, const std::string& other_computations = "") {
  const std::string gather = "channel_id=6, replica_groups={{0,1}}, dimensions={0}\n";
  return absl::StrCat(
      "HloModule m, is_scheduled=true\n\n"
      "%begin (x: f32[64]) -> (f32[64], f32[128], u32[]) {\n%x = f32[64] parameter(0)\n"
      "%g = f32[128] all-gather(%x), ",
      gather,
      "ROOT %k = (f32[64], f32[128], u32[]{:S(2)}) custom-call(%g), "
      "custom_call_target=\"AsyncCollectiveStart\"\n}\n\n"
      "%between (y: f32[64], z: f32[128], w: f32[32]) -> (f32[32], f32[64], f32[128], f32[128]) "
      "{\n%y = f32[64] parameter(0)\n%z = f32[128] parameter(1)\n%w = f32[32] parameter(2)\n"
      "%n = f32[32] negate(%w)\n%h = f32[128] all-gather(%y), ",
      gather,
      "ROOT %t = (f32[32], f32[64], f32[128], f32[128]) tuple(%n, %y, %z, %h)\n}\n\n"
      "%end (o: f32[64], p: f32[128]) -> f32[128] {\n%o = f32[64] parameter(0)\n"
      "%p = f32[128] parameter(1)\n%i = f32[128] all-gather(%o), ",
      gather,
      "ROOT %l = f32[128] custom-call(%o, %p, %i), "
      "custom_call_target=\"AsyncCollectiveDone\"\n}\n\n",
      other_computations, "ENTRY %main {\n", entry, "}\n");
}

// Such a fusion between start and done.
constexpr char kBetween[] =
    "%m = (f32[32], f32[64], f32[128], f32[128]) fusion(%s0, %s1, %v), kind=kOutput, "
    "calls=%between, output_to_operand_aliasing={{1}: (0, {}), {2}: (1, {}), {3}: (1, {})}\n"
    "%m0 = f32[32] get-tuple-element(%m), index=0\n"
    "%m1 = f32[64] get-tuple-element(%m), index=1\n"
    "%m2 = f32[128] get-tuple-element(%m), index=2\n";

std::string Chain() {
  return ChainModule(
      absl::StrCat("%a = f32[64] parameter(0)\n%v = f32[32] parameter(1)\n"
                   "%b = f32[64] negate(%a)\n"
                   "%s = (f32[64], f32[128], u32[]{:S(2)}) fusion(%b), kind=kCustom, calls=%begin, "
                   "output_to_operand_aliasing={{0}: (0, {})}\n"
                   "%s0 = f32[64] get-tuple-element(%s), index=0\n"
                   "%s1 = f32[128] get-tuple-element(%s), index=1\n",
                   kBetween,
                   "%d = f32[128] fusion(%m1, %m2), kind=kCustom, calls=%end, "
                   "output_to_operand_aliasing={{}: (1, {})}\n"
                   "%e = f32[128] negate(%d)\n"
                   "ROOT %r = (f32[32], f32[128]) tuple(%m0, %e)\n"));
}

// The same with the fusion between start and done in a loop.
std::string ChainThroughALoop() {
  const std::string state = "(s32[], f32[64], f32[128], f32[32])";
  return ChainModule(
      absl::StrCat("%a = f32[64] parameter(0)\n%w = f32[32] parameter(1)\n"
                   "%b = f32[64] negate(%a)\n%z = s32[] constant(0)\n"
                   "%s = (f32[64], f32[128], u32[]{:S(2)}) fusion(%b), kind=kCustom, "
                   "calls=%begin, output_to_operand_aliasing={{0}: (0, {})}\n"
                   "%g0 = f32[64] get-tuple-element(%s), index=0\n"
                   "%g1 = f32[128] get-tuple-element(%s), index=1\n"
                   "%t = ",
                   state, " tuple(%z, %g0, %g1, %w)\n%l = ", state,
                   " while(%t), condition=%cond, body=%body, "
                   "backend_config={\"known_trip_count\":{\"n\":\"2\"}}\n"
                   "%l1 = f32[64] get-tuple-element(%l), index=1\n"
                   "%l2 = f32[128] get-tuple-element(%l), index=2\n"
                   "%d = f32[128] fusion(%l1, %l2), kind=kCustom, calls=%end, "
                   "output_to_operand_aliasing={{}: (1, {})}\n"
                   "ROOT %e = f32[128] negate(%d)\n"),
      absl::StrCat("%body (p: ", state, ") -> ", state, " {\n%p = ", state,
                   " parameter(0)\n%i = s32[] get-tuple-element(%p), index=0\n"
                   "%s0 = f32[64] get-tuple-element(%p), index=1\n"
                   "%s1 = f32[128] get-tuple-element(%p), index=2\n"
                   "%v = f32[32] get-tuple-element(%p), index=3\n",
                   kBetween,
                   "%one = s32[] constant(1)\n%j = s32[] add(%i, %one)\n"
                   "ROOT %u = ",
                   state, " tuple(%j, %m1, %m2, %m0)\n}\n\n%cond (q: ", state,
                   ") -> pred[] {\n%q = ", state,
                   " parameter(0)\n%k = s32[] get-tuple-element(%q), index=0\n"
                   "%c = s32[] constant(2)\nROOT %y = pred[] compare(%k, %c), direction=LT\n"
                   "}\n\n"));
}

TEST(AssembleInFlight, AChainOfFusionsPassesTheArraysOnWithoutTraffic) {
  const v1::Program program = AssembleLinked(Chain());
  ASSERT_EQ(program.collectives_size(), 1);
  const v1::Collective& gather = program.collectives(0);
  EXPECT_EQ(gather.start(), InstructionOf(program, "s"));
  EXPECT_EQ(gather.done(), InstructionOf(program, "d"));
  const uint32_t shard = BufferAt(program, "b");
  const uint32_t whole = BufferAt(program, "s", {1});
  EXPECT_THAT(gather.buffers(), ElementsAre(shard, whole));
  EXPECT_EQ(AccessTo(program, whole, "s").kind(), v1::Access::WRITE);
  for (const uint32_t buffer : {shard, whole}) {
    EXPECT_FALSE(IsPinned(program, buffer));
    EXPECT_EQ(AccessTo(program, buffer, "m").kind(), v1::Access::UPDATE);
    EXPECT_EQ(AccessTo(program, buffer, "m").bytes_accessed(), 0);
  }
  // The computation of the fusion moves its bytes.
  EXPECT_EQ(AccessTo(program, BufferAt(program, "v"), "m").bytes_accessed(), 32 * 4);
  EXPECT_EQ(AccessTo(program, BufferAt(program, "m", {0}), "m").bytes_accessed(), 32 * 4);
  EXPECT_EQ(BufferAt(program, "d"), whole);
}

// The other devices write into the arrays meanwhile, so nothing may copy them.
TEST(AssembleInFlight, AChainOfFusionsThroughALoopHasNoTrafficAndKeepsItsArraysInHbm) {
  const v1::Program program = AssembleLinked(ChainThroughALoop());
  ASSERT_EQ(program.collectives_size(), 1);
  const v1::Collective& gather = program.collectives(0);
  EXPECT_EQ(gather.start(), InstructionOf(program, "s"));
  EXPECT_EQ(gather.done(), InstructionOf(program, "d"));
  EXPECT_THAT(gather.buffers(), IsEmpty());
  for (const uint32_t element : {1, 2}) {
    const uint32_t carried = BufferAt(program, "p", {element});
    EXPECT_TRUE(IsPinned(program, carried));
    EXPECT_EQ(AccessTo(program, carried, "m").bytes_accessed(), 0);
    EXPECT_TRUE(IsPinned(program, BufferAt(program, "l", {element})));
  }
  EXPECT_FALSE(IsPinned(program, BufferAt(program, "p", {3})));
}

TEST(AssembleInFlight, ALoopThatAChainOfFusionsGoesThroughSendsNothingItself) {
  const auto analyzed = MustAnalyze(ChainThroughALoop());
  for (const PricedStep& priced : analyzed->priced) EXPECT_EQ(priced.link_bytes, 0);
  ASSERT_EQ(analyzed->async_collectives.size(), 1);
  EXPECT_EQ(analyzed->async_collectives[0].link_bytes, 512. / 2);
}

TEST(AssembleInFlight, ArraysThatTheStartDoesNotStateStayInHbm) {
  const v1::Program program = AssembleLinked(
      hlo::EntryModule("%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n"
                       "%s = ((f32[64]), f32[32], u32[]) reduce-scatter-start(%b), dimensions={0}, "
                       "replica_groups={{0,1}}\n%c = f32[64] abs(%a)\n"
                       "%d = f32[32] reduce-scatter-done(%s)\nROOT %e = f32[32] negate(%d)"));
  EXPECT_TRUE(IsPinned(program, BufferAt(program, "b")));
  EXPECT_FALSE(IsPinned(program, BufferAt(program, "c")));
  ASSERT_EQ(program.collectives_size(), 1);
  const v1::Collective& scatter = program.collectives(0);
  EXPECT_EQ(scatter.start(), InstructionOf(program, "c"));  // the instruction that follows it
  EXPECT_EQ(scatter.done(), InstructionOf(program, "e"));
  EXPECT_THAT(scatter.buffers(), IsEmpty());
  EXPECT_THAT(program.notes(), ElementsAre("1 asynchronous collectives keep arrays in HBM"));
}

// A pass of the loop gathers the value that the next pass begins with.
TEST(AssembleInFlight, ArraysThatALoopCarriesStayInHbm) {
  const std::string start =
      "%s = (f32[8], f32[8]) collective-permute-start(%x), "
      "source_target_pairs={{0,1},{1,0}}\n";
  const v1::Program program = AssembleLinked(
      testing::LoopModule(3, absl::StrCat(start, "%state = f32[8] collective-permute-done(%s)")));
  ASSERT_EQ(program.collectives_size(), 1);
  EXPECT_THAT(program.collectives(0).buffers(), IsEmpty());
  EXPECT_THAT(program.notes(), ElementsAre("1 asynchronous collectives keep arrays in HBM"));
}

// Each pass waits for a collective that starts before the loop.
TEST(AssembleInFlight, ArraysWhoseDoneIsInAnotherLoopStayInHbm) {
  const std::string state = "(s32[], f32[64], f32[128])";
  const v1::Program program = AssembleLinked(
      ChainModule(absl::StrCat("%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n"
                               "%s = (f32[64], f32[128], u32[]{:S(2)}) fusion(%b), kind=kCustom, "
                               "calls=%begin, output_to_operand_aliasing={{0}: (0, {})}\n"
                               "%g0 = f32[64] get-tuple-element(%s), index=0\n"
                               "%g1 = f32[128] get-tuple-element(%s), index=1\n"
                               "%z = s32[] constant(0)\n%t = ",
                               state, " tuple(%z, %g0, %g1)\nROOT %l = ", state,
                               " while(%t), condition=%cond, body=%body\n"),
                  absl::StrCat("%body {\n%p = ", state,
                               " parameter(0)\n%i = s32[] get-tuple-element(%p), index=0\n"
                               "%s0 = f32[64] get-tuple-element(%p), index=1\n"
                               "%s1 = f32[128] get-tuple-element(%p), index=2\n"
                               "%d = f32[128] fusion(%s0, %s1), kind=kCustom, calls=%end\n"
                               "ROOT %u = ",
                               state, " tuple(%i, %s0, %s1)\n}\n\n%cond {\n%q = ", state,
                               " parameter(0)\nROOT %y = pred[] constant(true)\n}\n\n")));
  ASSERT_EQ(program.collectives_size(), 1);
  const v1::Collective& gather = program.collectives(0);
  EXPECT_EQ(gather.start(), InstructionOf(program, "s"));
  EXPECT_EQ(gather.done(), InstructionOf(program, "d"));
  EXPECT_THAT(gather.buffers(), IsEmpty());
  EXPECT_TRUE(IsPinned(program, BufferAt(program, "b")));
  EXPECT_TRUE(IsPinned(program, BufferAt(program, "s", {1})));
}

TEST(AssembleInFlight, ArraysWhoseDoneIsMissingStayInHbm) {
  const v1::Program program = AssembleLinked(
      hlo::EntryModule("%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n"
                       "%s = (f32[64], f32[128]) all-gather-start(%b), dimensions={0}, "
                       "replica_groups={{0,1}}\nROOT %c = f32[64] abs(%b)"));
  ASSERT_EQ(program.collectives_size(), 1);
  EXPECT_THAT(program.collectives(0).buffers(), IsEmpty());
  EXPECT_TRUE(IsPinned(program, BufferAt(program, "b")));
}

}  // namespace
}  // namespace mallocmuzero
