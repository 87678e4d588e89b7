#include "simulator/import/structure/assemble.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::Cycles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LoopModule;
using testing::MustAnalyze;
using ::testing::SizeIs;
using testing::SmallHardware;

v1::Program AssembleText(const std::string& text, const v1::Hardware& hardware = SmallHardware()) {
  return Assemble(*MustAnalyze(text), hardware).program;
}

int Index(const v1::Program& program, const std::string& name,
          v1::Instruction::Kind kind = v1::Instruction::KIND_UNSPECIFIED) {
  for (int i = 0; i < program.instructions_size(); ++i) {
    const v1::Instruction& instruction = program.instructions(i);
    if (instruction.name() == name &&
        (kind == v1::Instruction::KIND_UNSPECIFIED || instruction.kind() == kind)) {
      return i;
    }
  }
  ADD_FAILURE() << "no instruction " << name;
  return 0;
}

std::vector<v1::Access> AccessesOf(const v1::Program& program, const std::string& name) {
  const v1::Instruction& instruction = program.instructions(Index(program, name));
  std::vector<v1::Access> accesses;
  for (uint32_t k = 0; k < instruction.access_count(); ++k) {
    accesses.push_back(program.accesses(instruction.first_access() + k));
  }
  return accesses;
}

const v1::Buffer& BufferOfTensor(const v1::Program& program, const std::string& name) {
  for (const v1::Tensor& tensor : program.tensors()) {
    if (tensor.instruction_name() == name) {
      return program.buffers(tensor.buffer());
    }
  }
  ADD_FAILURE() << "no tensor " << name;
  return v1::Buffer::default_instance();
}

std::pair<uint32_t, uint32_t> RangeOf(const v1::Program& program, const std::string& name) {
  const v1::Buffer& buffer = BufferOfTensor(program, name);
  return {buffer.first(), buffer.last()};
}

TEST(Assemble, ReadsWritesAndUpdates) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%u = f32[4] parameter(1)\n%i = s32[]{:S(6)} parameter(2)\n"
      "%n = f32[64] negate(%a)\nROOT %d = f32[64] dynamic-update-slice(%n, %u, %i)"));
  const auto negate = AccessesOf(program, "n");
  ASSERT_THAT(negate, SizeIs(2));
  EXPECT_EQ(negate[0].kind(), v1::Access::READ);
  EXPECT_EQ(negate[1].kind(), v1::Access::WRITE);
  const auto update = AccessesOf(program, "d");
  ASSERT_THAT(update, SizeIs(2));  // the index in S(6) is no access
  EXPECT_EQ(update[0].kind(), v1::Access::UPDATE);
  EXPECT_EQ(update[0].buffer(), negate[1].buffer());
  EXPECT_EQ(update[0].bytes(), 256);          // the array
  EXPECT_EQ(update[0].bytes_accessed(), 16);  // the update
  EXPECT_EQ(update[1].kind(), v1::Access::READ);
}

TEST(Assemble, TwoReadsOfOneBufferAreOneAccess) {
  const v1::Program program =
      AssembleText(hlo::EntryModule("%a = f32[64] parameter(0)\nROOT %x = f32[64] add(%a, %a)"));
  const auto accesses = AccessesOf(program, "x");
  ASSERT_THAT(accesses, SizeIs(2));
  EXPECT_EQ(accesses[0].bytes(), 256);
  EXPECT_EQ(accesses[0].bytes_accessed(), 512);
  ASSERT_EQ(accesses[0].positions_size(), 2);
  EXPECT_EQ(accesses[0].positions(0).operand(), 0);
  EXPECT_EQ(accesses[0].positions(1).operand(), 1);
  EXPECT_EQ(accesses[1].positions(0).operand(), -1);
}

TEST(Assemble, InstructionsAreThoseThatTakeTime) {
  const v1::Program program = AssembleText(hlo::EntryModule(absl::StrCat(
      "%a = f32[64] parameter(0)\n%b = f32[8,8] bitcast(%a)\n%x = f32[8,8] negate(%b)", Cycles(7),
      "\n%y = f32[8,8] abs(%x), metadata={op_name=\"jit(f)/abs\"}\n"
      "ROOT %t = (f32[8,8]) tuple(%y)")));
  ASSERT_EQ(program.instructions_size(), 3);
  EXPECT_EQ(program.instructions(0).kind(), v1::Instruction::ESTIMATED);
  EXPECT_EQ(program.instructions(0).opcode(), "negate");
  EXPECT_EQ(program.instructions(1).kind(), v1::Instruction::MODELLED);
  EXPECT_EQ(program.instructions(1).op_name(), "jit(f)/abs");
  EXPECT_EQ(program.instructions(2).fixed_hbm_bytes(), 8);  // one pointer
  EXPECT_EQ(program.instructions(2).access_count(), 0);
}

TEST(Assemble, TensorsNameTheirBuffer) {
  const v1::Program program = AssembleText(
      hlo::EntryModule("%a = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)\n"
                       "ROOT %x = (bf16[8,128]{1,0:T(8,128)(2,1)}, s4[64]) custom-call(%a), "
                       "custom_call_target=\"f\""));
  ASSERT_EQ(program.tensors_size(), 3);
  const v1::Tensor& second = program.tensors(2);
  EXPECT_EQ(second.instruction_name(), "x");
  EXPECT_THAT(second.tuple_index(), ElementsAre(1));
  EXPECT_EQ(second.bytes(), 32);  // 64 elements of half a byte
  EXPECT_EQ(program.tensors(0).shape(), "bf16[8,128]{1,0:T(8,128)(2,1)}");
  EXPECT_EQ(program.tensors(0).bytes(), 2048);
  EXPECT_THAT(program.tensors(0).tuple_index(), IsEmpty());
}

TEST(Assemble, InputsLiveFromTheStartAndResultsToTheEnd) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n%c = f32[64] parameter(1)\n"
      "%d = f32[64] abs(%b)\n%e = f32[64] add(%c, %a)\n%f = f32[64] add(%d, %e)\n"
      "ROOT %t = (f32[64], f32[64]) tuple(%b, %f)"));
  EXPECT_EQ(RangeOf(program, "a"), std::pair(0u, 2u));
  EXPECT_EQ(RangeOf(program, "b"), std::pair(0u, 4u));
  EXPECT_EQ(RangeOf(program, "c"), std::pair(0u, 2u));
  EXPECT_EQ(RangeOf(program, "d"), std::pair(1u, 3u));
  EXPECT_EQ(RangeOf(program, "f"), std::pair(3u, 4u));
  EXPECT_TRUE(BufferOfTensor(program, "a").live_in());
  EXPECT_FALSE(BufferOfTensor(program, "a").live_out());
  EXPECT_TRUE(BufferOfTensor(program, "b").live_out());
  EXPECT_FALSE(BufferOfTensor(program, "b").live_in());
  EXPECT_FALSE(BufferOfTensor(program, "d").live_out());
}

TEST(Assemble, WhatALoopReadsFromOutsideLivesUntilItEnds) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%k = f32[64] negate(%a)\n"
      "%t = (f32[64], f32[64]) tuple(%a, %k)\n"
      "%w = (f32[64], f32[64]) while(%t), condition=%c, body=%b\n"
      "%g = f32[64] get-tuple-element(%w), index=0\nROOT %z = f32[64] abs(%g)",
      "%b (p: (f32[64], f32[64])) -> (f32[64], f32[64]) {\n%p = (f32[64], f32[64]) parameter(0)\n"
      "%x = f32[64] get-tuple-element(%p), index=0\n%y = f32[64] get-tuple-element(%p), index=1\n"
      "%s = f32[64] add(%x, %y)\n%v = f32[64] abs(%s)\nROOT %r = (f32[64], f32[64]) tuple(%v, %y)\n"
      "}\n%c (q: (f32[64], f32[64])) -> pred[] {\n%q = (f32[64], f32[64]) parameter(0)\n"
      "ROOT %u = pred[]{:S(6)} constant(true)\n}\n"));
  const uint32_t begin = Index(program, "w", v1::Instruction::LOOP_BEGIN);
  const uint32_t end = Index(program, "w", v1::Instruction::LOOP_END);
  ASSERT_EQ(program.loops_size(), 1);
  EXPECT_EQ(program.loops(0).begin(), begin);
  EXPECT_EQ(program.loops(0).end(), end);
  EXPECT_EQ(RangeOf(program, "k").second, end);
  // The carried array: the parameter lives from the begin marker to its read, the root from its
  // write to the end marker.
  ASSERT_EQ(program.carried_groups_size(), 1);
  const v1::CarriedGroup& group = program.carried_groups(0);
  const auto buffer = [&](uint32_t b) -> const v1::Buffer& { return program.buffers(b); };
  EXPECT_EQ(buffer(group.initial_buffer()).last(), begin);
  EXPECT_EQ(buffer(group.parameter_buffer()).first(), begin);
  EXPECT_EQ(buffer(group.parameter_buffer()).last(), Index(program, "s"));
  EXPECT_EQ(buffer(group.root_buffer()).first(), Index(program, "v"));
  EXPECT_EQ(buffer(group.root_buffer()).last(), end);
  EXPECT_EQ(buffer(group.result_buffer()).first(), end);
  EXPECT_EQ(buffer(group.result_buffer()).last(), Index(program, "z"));
}

TEST(Assemble, LoopsSayHowOftenTheyRunAndWhetherThatIsKnown) {
  const v1::Program known = AssembleText(LoopModule(3, "%state = f32[8] negate(%x)"));
  EXPECT_EQ(known.loops(0).trip_count(), 3);
  EXPECT_TRUE(known.loops(0).trip_count_known());
  EXPECT_THAT(known.notes(), IsEmpty());
  const v1::Instruction& negate = known.instructions(Index(known, "state"));
  EXPECT_EQ(negate.execution_count(), 3);
  EXPECT_TRUE(negate.has_loop());

  const v1::Program unknown = AssembleText(hlo::EntryModule(
      "%a = f32[8] parameter(0)\nROOT %w = f32[8] while(%a), condition=%c, body=%b",
      "%b (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] negate(%p)\n}\n"
      "%c (p: f32[8]) -> pred[] {\n%q = f32[8] parameter(0)\nROOT %k = pred[] "
      "constant(true)\n}\n"));
  EXPECT_FALSE(unknown.loops(0).trip_count_known());
  EXPECT_THAT(unknown.notes(), ElementsAre("1 loops have no known trip count: 5 is assumed, as XLA "
                                           "does"));
}

TEST(Assemble, WhatIsInOtherMemoriesIsNoBuffer) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%s = s32[]{:S(6)} parameter(1)\n"
      "ROOT %x = (f32[64], s32[]{:S(2)}) custom-call(%a, %s), custom_call_target=\"f\""));
  EXPECT_EQ(program.buffers_size(), 2);
  EXPECT_THAT(AccessesOf(program, "x"), SizeIs(2));
}

TEST(Assemble, AProgramWithoutCollectivesDoesNotDependOnTheLinks) {
  v1::Hardware hardware = SmallHardware();
  hardware.set_link_bytes_per_cycle(16);
  const std::string text =
      hlo::EntryModule("%a = f32[64] parameter(0)\nROOT %b = f32[64] negate(%a)");
  EXPECT_EQ(AssembleText(text, hardware).SerializeAsString(),
            AssembleText(text).SerializeAsString());
}

TEST(Assemble, OtherAsynchronousOperationsTakeNoTime) {
  const v1::Program program = AssembleText(
      hlo::EntryModule("%a = f32[64] parameter(0)\n%b = f32[64] negate(%a)\n"
                       "%s = ((f32[64]), f32[64], u32[]) sort-start(%b), dimensions={0}\n"
                       "%d = f32[64] sort-done(%s)\nROOT %e = f32[64] negate(%d)"));
  EXPECT_THAT(program.notes(), ElementsAre(HasSubstr("1 asynchronous operations take no time")));
  EXPECT_EQ(program.collectives_size(), 0);
}

TEST(Assemble, WhatSeveralBranchesWriteStaysInHbm) {
  const v1::Program program = AssembleText(
      "HloModule m, is_scheduled=true\n\n"
      "%one (p: f32[64]) -> f32[64] {\n%p = f32[64] parameter(0)\nROOT %n = f32[64] "
      "negate(%p)\n}\n\n"
      "%two (q: f32[64]) -> f32[64] {\n%q = f32[64] parameter(0)\nROOT %m = f32[64] abs(%q)\n}\n\n"
      "ENTRY %main {\n%s = pred[] parameter(0)\n%a = f32[64] parameter(1)\n%b = f32[64] abs(%a)\n"
      "%c = f32[64] conditional(%s, %b, %b), true_computation=%one, false_computation=%two\n"
      "ROOT %r = f32[64] negate(%c)\n}\n");
  EXPECT_FALSE(BufferOfTensor(program, "b").pinned_to_hbm());
  EXPECT_TRUE(BufferOfTensor(program, "n").pinned_to_hbm());
}

TEST(Assemble, OperandsThatAnAsyncUpdateBringsStayInHbm) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%p = f32[32,8] parameter(0)\n%i = s32[4] parameter(1)\n%t = f32[32,8] negate(%p)\n"
      "%s = ((), (), s32[]{:S(11)}) async-start(), custom_call_target=\"g\"\n"
      "%u = ((f32[32,8], s32[4]), f32[4,8], s32[]{:S(11)}) async-update(%s, %t, %i)\n"
      "%d = f32[4,8] async-done(%u)\nROOT %n = f32[4,8] negate(%d)"));
  EXPECT_TRUE(BufferOfTensor(program, "t").pinned_to_hbm());
  EXPECT_TRUE(program.buffers(AccessesOf(program, "n")[0].buffer()).pinned_to_hbm());
}

TEST(Assemble, SendsAndRecvsTakeNoTimeAndKeepTheirArraysInHbm) {
  const v1::Program program = AssembleText(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%o = f32[8] negate(%a)\n%t = token[] after-all()\n"
      "%s = (f32[8], u32[], token[]) send(%o, %t)\n%r = (f32[8], u32[], token[]) recv(%t)\n"
      "%sd = token[] send-done(%s)\n%rd = (f32[8], token[]) recv-done(%r)\n"
      "%b = f32[8] get-tuple-element(%rd), index=0\nROOT %n = f32[8] negate(%b)"));
  ASSERT_EQ(program.instructions_size(), 2);
  EXPECT_TRUE(BufferOfTensor(program, "o").pinned_to_hbm());
  EXPECT_TRUE(program.buffers(AccessesOf(program, "n")[0].buffer()).pinned_to_hbm());
  EXPECT_FALSE(BufferOfTensor(program, "n").pinned_to_hbm());
  EXPECT_THAT(program.notes(), ElementsAre(HasSubstr("2 asynchronous operations take no time")));
}

// A SparseCore of TPU7x runs this all-gather.
TEST(Assemble, ACollectiveOfASparseCoreTakesTimeAndKeepsItsArraysInHbm) {
  v1::Hardware hardware = SmallHardware();
  hardware.set_link_bytes_per_cycle(16);
  const std::string text = hlo::EntryModule(
      "%p = f32[32,8] parameter(0)\n%t = f32[32,8] negate(%p)\n"
      "%s = ((), (), (s32[8])) custom-call-start(), custom_call_target=\"c\", "
      "called_computations=%gather\n"
      "%u = ((f32[32,8]), f32[64,8], (s32[8])) custom-call-update(%s, %t)\n"
      "%m = f32[32,8] negate(%p)\n"
      "%d = f32[64,8] custom-call-done(%u)\nROOT %n = f32[64,8] negate(%d)",
      "%gather {\n%x = f32[32,8] parameter(0)\n"
      "ROOT %g = f32[64,8] all-gather(%x), replica_groups={{0,1}}, dimensions={0}\n}\n");
  const v1::Program program = AssembleText(text, hardware);
  ASSERT_THAT(program.collectives(), SizeIs(1));
  EXPECT_EQ(program.collectives(0).start(), 1);  // before %m
  EXPECT_EQ(program.collectives(0).done(), 2);   // before %n
  EXPECT_EQ(program.collectives(0).cycles(), 64 * 8 * 4 / 2 / 16);
  EXPECT_TRUE(BufferOfTensor(program, "t").pinned_to_hbm());
  EXPECT_TRUE(program.buffers(AccessesOf(program, "n")[0].buffer()).pinned_to_hbm());
  EXPECT_FALSE(BufferOfTensor(program, "m").pinned_to_hbm());
  EXPECT_THAT(program.notes(), ElementsAre("1 asynchronous collectives keep arrays in HBM"));
}

// A custom call with `count` parameters of 1, 2, ... floats.
std::string CallOfMany(int count) {
  std::string lines;
  std::string operands;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&lines, "%p", i, " = f32[", i + 1, "] parameter(", i, ")\n");
    absl::StrAppend(&operands, i > 0 ? ", " : "", "%p", i);
  }
  return hlo::EntryModule(absl::StrCat(lines, "ROOT %x = f32[500] custom-call(", operands,
                                       "), custom_call_target=\"f\""));
}

TEST(Assemble, OfMoreThan64AccessesTheSmallestStayInHbm) {
  const v1::Program program = AssembleText(CallOfMany(70));  // 71 arrays with the output
  const auto accesses = AccessesOf(program, "x");
  ASSERT_THAT(accesses, SizeIs(64));
  EXPECT_EQ(accesses[0].bytes(), 8 * 4);  // 71 - 64 = 7 are dropped: those of 1 to 7 floats
  EXPECT_EQ(accesses[63].kind(), v1::Access::WRITE);
  EXPECT_EQ(program.instructions(0).fixed_hbm_bytes(), 4 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
  EXPECT_THAT(program.notes(),
              ElementsAre("%x has more than 64 accesses: the 7 smallest stay in HBM"));
  for (const v1::Buffer& buffer : program.buffers()) {
    EXPECT_EQ(buffer.pinned_to_hbm(), buffer.bytes() <= 28) << buffer.bytes();
  }
  EXPECT_THAT(AssembleText(CallOfMany(63)).notes(), IsEmpty());
}

// %n0 goes into a loop that keeps its counter in S(6), a memory that holds no tensors.
TEST(Assemble, WhatALoopCarriesInSeveralMemoriesIsNoGroupAndStaysInHbm) {
  std::string text = LoopModule(3, "%state = f32[8] negate(%x)");
  text = absl::StrReplaceAll(
      text, {{"%p = (s32[], ", "%p = (s32[]{:S(6)}, "},
             {"%i = s32[] get", "%i = s32[]{:S(6)} get"},
             {"%z = s32[] constant(0)", "%z0 = s32[] constant(0)\n%z = s32[] negate(%z0)"}});
  const v1::Program program = AssembleText(text);
  ASSERT_EQ(program.carried_groups_size(), 1);
  const v1::CarriedGroup& group = program.carried_groups(0);
  EXPECT_EQ(program.buffers(group.initial_buffer()).bytes(), 32);
  EXPECT_TRUE(BufferOfTensor(program, "z").pinned_to_hbm());
}

TEST(Assemble, UnknownOpcodesAreNamedAndPricedByBytes) {
  const v1::Program program =
      AssembleText(hlo::EntryModule("%a = f32[8] parameter(0)\nROOT %x = f32[8] frobnicate(%a)"));
  EXPECT_THAT(program.unknown_opcodes(), ElementsAre("frobnicate"));
  EXPECT_THAT(AccessesOf(program, "x"), SizeIs(2));
}

// The instances are the entry computation, the body and the condition.
TEST(Assemble, TheSourceSaysWhereInstructionsTensorsAndLoopsAre) {
  const v1::Program program = AssembleText(LoopModule(3, "%state = f32[8]{0:S(3)} negate(%x)"));
  const v1::Source& source = program.source();
  ASSERT_EQ(source.instructions_size(), program.instructions_size());
  const v1::Source::Instruction& state = source.instructions(Index(program, "state"));
  EXPECT_EQ(state.instance(), 1);
  EXPECT_EQ(state.shape(), "f32[8]{0}");
  EXPECT_EQ(source.instructions(Index(program, "c")).instance(), 2);
  const v1::Source::Instruction& loop = source.instructions(Index(program, "w"));
  EXPECT_EQ(loop.instance(), 0);
  EXPECT_EQ(loop.shape(), "(s32[], f32[8])");
  ASSERT_THAT(source.loops(), SizeIs(1));
  EXPECT_EQ(source.loops(0).body(), 1);
  EXPECT_EQ(source.loops(0).condition(), 2);
  ASSERT_EQ(source.tensors_size(), program.tensors_size());
  const auto instance_of = [&](const std::string& name) -> int {
    for (int t = 0; t < program.tensors_size(); ++t) {
      if (program.tensors(t).instruction_name() != name) continue;
      EXPECT_EQ(source.tensors(t).has_parameter(), name == "init" || name == "p") << name;
      return static_cast<int>(source.tensors(t).instance());
    }
    return -1;
  };
  for (const char* name : {"init", "w"}) EXPECT_EQ(instance_of(name), 0) << name;
  for (const char* name : {"p", "one", "n", "state"}) EXPECT_EQ(instance_of(name), 1) << name;
  for (const char* name : {"limit", "c"}) EXPECT_EQ(instance_of(name), 2) << name;
}

TEST(Assemble, TheSourceListsAliasesThatShareABuffer) {
  const std::string listed = R"(, backend_config={"aliasing_operands":{"lists":[)"
                             R"({"indices":["0","1"]}]}})";
  const std::string text = hlo::EntryModule(
      absl::StrCat("%a = f32[8] parameter(0)\nROOT %x = f32[8] negate(%a)", listed));
  const auto aliases = [&](const InPlaceHints& hints) {
    return Assemble(*MustAnalyze(text, hints), SmallHardware()).program.source().instructions(0);
  };
  EXPECT_THAT(aliases({}).aliases(), IsEmpty());
  const v1::Source::Instruction shared = aliases({{"x", {{.operand = 0, .output_leaf = 0}}}});
  ASSERT_THAT(shared.aliases(), SizeIs(1));
  EXPECT_EQ(shared.aliases(0).operand(), 0);
  EXPECT_EQ(shared.aliases(0).output(), 0);
}

}  // namespace
}  // namespace mallocmuzero
