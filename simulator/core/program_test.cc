#include "simulator/core/program.h"

#include <functional>
#include <random>

#include "base/message_file.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Update;
using ::mallocmuzero::testing::Write;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Instructions by index: 0 plain, 1 begin of the outer loop, 2 plain, 3 begin of the inner loop, 4
// plain, 5 end of the inner loop, 6 end of the outer loop, 7 plain.
ProgramBuilder NestedLoops() {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex state = builder.AddBuffer(50);
  const BufferIndex result = builder.AddBuffer(10, {.live_out = true});
  builder.AddInstruction(10, {Write(state)});
  const LoopIndex outer = builder.BeginLoop(2);
  builder.AddInstruction(10, {Read(weights)});
  builder.BeginLoop(3);
  builder.AddInstruction(10, {Read(weights), Update(state)});
  builder.EndLoop();
  builder.EndLoop();
  builder.AddModelled(100, {Read(state), Write(result)});
  builder.AddCarriedGroup(outer, state, state, state, state);
  return builder;
}

TEST(Program, OffersFlatArrays) {
  const Program program = NestedLoops().Build();
  ASSERT_EQ(program.instruction_count(), 8);
  ASSERT_EQ(program.access_count(), 6);
  EXPECT_EQ(program.instructions()[4].execution_count, 6);
  EXPECT_EQ(program.instructions()[4].loop, 1);
  EXPECT_EQ(program.instructions()[7].kind, InstructionKind::kModelled);
  EXPECT_EQ(program.accesses()[3].kind, AccessKind::kUpdate);
  EXPECT_EQ(program.AccessesOfInstruction(4).size(), 2);
  EXPECT_EQ(program.loops()[1].parent, 0);
  EXPECT_EQ(program.loops()[1].trip_count, 3);
  EXPECT_EQ(program.carried_groups()[0].root_buffer, 1);
  EXPECT_THAT(program.AccessesOfBuffer(0), IndicesAre(1, 2));
  EXPECT_THAT(program.AccessesOfBuffer(1), IndicesAre(0, 3, 4));
}

TEST(Program, LoopBeginIsOutsideItsLoopAndLoopEndInside) {
  const Program program = NestedLoops().Build();
  EXPECT_EQ(program.instructions()[1].loop, -1);
  EXPECT_EQ(program.instructions()[1].execution_count, 1);
  EXPECT_EQ(program.instructions()[3].loop, 0);
  EXPECT_EQ(program.instructions()[3].execution_count, 2);
  EXPECT_EQ(program.instructions()[5].loop, 1);
  EXPECT_EQ(program.instructions()[5].execution_count, 6);
  EXPECT_EQ(program.instructions()[6].loop, 0);
  EXPECT_EQ(program.instructions()[6].execution_count, 2);
}

TEST(Program, MarkersMayStateTheLoopTheyMark) {
  v1::Program proto = NestedLoops().BuildProto();
  for (const int begin : {1, 3}) {
    const int loop = begin == 1 ? 0 : 1;
    proto.mutable_instructions(begin)->set_loop(loop);
    proto.mutable_instructions(begin)->set_execution_count(loop == 0 ? 2 : 6);
  }
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->instructions()[3].execution_count, 2);
}

TEST(Program, SurvivesBinaryAndTextFiles) {
  const v1::Program proto = NestedLoops().BuildProto();
  for (const char* name : {"/p.program", "/p.program.zst", "/p.textproto", "/p.textproto.zst"}) {
    const std::string path = ::testing::TempDir() + name;
    ASSERT_TRUE(WriteMessage(path, proto).ok());
    const absl::StatusOr<Program> program = LoadProgram(path);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(SerializeDeterministically(program->proto()), SerializeDeterministically(proto));
  }
}

TEST(Program, FingerprintChangesWithTheContent) {
  v1::Program proto = NestedLoops().BuildProto();
  const std::string before = proto.fingerprint();
  EXPECT_EQ(before.size(), 32);
  EXPECT_EQ(ProgramFingerprint(proto), before);
  proto.mutable_buffers(0)->set_bytes(101);
  EXPECT_NE(ProgramFingerprint(proto), before);
  EXPECT_THAT(std::string(Program::FromProto(proto).status().message()),
              HasSubstr("fingerprint: does not match"));
}

std::string ErrorAfter(const std::function<void(v1::Program&)>& change) {
  v1::Program proto = NestedLoops().BuildProto();
  change(proto);
  SealProgram(proto);
  return std::string(Program::FromProto(proto).status().message());
}

TEST(Program, RefusesWrongInstructions) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.clear_instructions(); }),
            "instructions: at least one expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) {
              p.mutable_instructions(0)->set_kind(v1::Instruction::KIND_UNSPECIFIED);
            }),
            "instructions[0].kind: ESTIMATED, MODELLED, LOOP_BEGIN or LOOP_END expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(2)->set_first_access(0); }),
            "instructions[2].first_access: 1 expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(7)->set_access_count(65); }),
            "instructions[7].access_count: 0 to 2 expected, found 65");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(7)->set_access_count(1); }),
            "accesses: 5 (the sum of access_count) expected, found 6");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(0)->set_fixed_hbm_bytes(-1); }),
            "instructions[0].fixed_hbm_bytes: 0 to 1125899906842624 expected, found -1");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(4)->set_execution_count(5); }),
            "instructions[4].execution_count: 6 expected, found 5");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_instructions(4)->set_loop(0); }),
            "instructions[4].loop: 1 expected, found 0");
}

TEST(Program, RefusesWrongAccesses) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_accesses(0)->set_buffer(3); }),
            "accesses[0].buffer: an index below 3 expected, found 3");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_accesses(0)->set_instruction(1); }),
            "accesses[0].instruction: 0 expected, found 1");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_accesses(0)->clear_kind(); }),
            "accesses[0].kind: READ, WRITE or UPDATE expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_accesses(0)->set_bytes_accessed(-1); }),
            "accesses[0].bytes_accessed: 0 to 1125899906842624 expected, found -1");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_accesses(0)->set_buffer(2); }),
            "accesses[0].instruction: one in the live range 7 to 7 of buffer 2 expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_buffers(1)->set_last(6); }),
            "accesses[4].instruction: one in the live range 0 to 6 of buffer 1 expected, found 7");
  EXPECT_EQ(
      ErrorAfter([](v1::Program& p) {
        p.mutable_accesses(3)->set_buffer(0);
        p.mutable_accesses(3)->set_kind(v1::Access::READ);
      }),
      "accesses[3].buffer: one access of each kind to a buffer by instruction 4 expected, found "
      "accesses 2 and 3");
}

TEST(Program, RefusesWrongBuffersAndTensors) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_buffers(0)->set_bytes(0); }),
            "buffers[0].bytes: 1 to 1125899906842624 expected, found 0");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_buffers(0)->set_first(1); }),
            "buffers[0].first: 0 to 0 expected, found 1");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_tensors(0)->set_buffer(9); }),
            "tensors[0].buffer: an index below 3 expected, found 9");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_tensors(2)->set_bytes(11); }),
            "tensors[2].bytes: 0 to 10 expected, found 11");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_carried_groups(0)->set_root_buffer(3); }),
            "carried_groups[0].root_buffer: an index below 3 expected, found 3");
}

// Adds a collective to NestedLoops.
std::string ErrorWithCollective(uint32_t start, uint32_t done,
                                const std::vector<uint32_t>& buffers) {
  return ErrorAfter([&](v1::Program& p) {
    v1::Collective& collective = *p.add_collectives();
    collective.set_start(start);
    collective.set_done(done);
    for (const uint32_t buffer : buffers) collective.add_buffers(buffer);
  });
}

TEST(Program, RefusesWrongBuffersInFlight) {
  EXPECT_EQ(ErrorWithCollective(0, 7, {1}), "");
  EXPECT_EQ(ErrorWithCollective(0, 8, {}), "");
  EXPECT_EQ(ErrorWithCollective(0, 8, {1}),
            "collectives[0].done: an index below 8 expected, found 8");
  EXPECT_EQ(ErrorWithCollective(7, 7, {1}), "collectives[0].start: 0 to 6 expected, found 7");
  EXPECT_EQ(ErrorWithCollective(2, 4, {0}),
            "collectives[0].done: an instruction in the loop of the start expected, found 4");
  EXPECT_EQ(ErrorWithCollective(0, 7, {0}),
            "collectives[0].buffers: a buffer that the start accesses, alive up to the done "
            "expected, found 0");
  EXPECT_EQ(ErrorWithCollective(0, 7, {1, 1}), "collectives[0].buffers: 2 to 2 expected, found 1");
  EXPECT_EQ(ErrorWithCollective(0, 7, {3}), "collectives[0].buffers: 0 to 2 expected, found 3");
}

TEST(Program, RefusesABufferInFlightThatDiesBeforeTheDone) {
  ProgramBuilder builder;
  const BufferIndex array = builder.AddBuffer(64);
  builder.AddInstruction(10, {Write(array)});
  builder.AddInstruction(10);
  v1::Program proto = builder.AddCollective(0, 1, 5, {array}).BuildProto();
  proto.mutable_buffers(0)->set_last(0);
  SealProgram(proto);
  EXPECT_THAT(Program::FromProto(proto).status().message(),
              HasSubstr("collectives[0].buffers: a buffer that the start accesses, alive up to the "
                        "done expected, found 0"));
  proto.mutable_buffers(0)->set_last(1);
  SealProgram(proto);
  EXPECT_TRUE(Program::FromProto(proto).ok());
}

TEST(Program, CollectivesThatOverlapAreOneFlight) {
  ProgramBuilder builder;
  const BufferIndex other = builder.AddBuffer(10, {.live_in = true});
  const BufferIndex shard = builder.AddBuffer(10, {.live_in = true});
  for (int i = 0; i < 8; ++i) builder.AddInstruction(10, {Read(other), Read(shard)});
  const Program program = builder.AddCollective(0, 2, 5, {shard})
                              .AddCollective(1, 4, 5, {other, shard})
                              .AddCollective(5, 7, 5, {shard})
                              .Build();
  EXPECT_THAT(program.FlightsOf(other), ElementsAre(Flight{other, 1, 4}));
  EXPECT_THAT(program.FlightsOf(shard), ElementsAre(Flight{shard, 0, 4}, Flight{shard, 5, 7}));
  EXPECT_EQ(program.flights().size(), 3);
}

TEST(Program, RefusesLoopsThatDoNotNest) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) {
              p.mutable_loops(0)->set_end(5);
              p.mutable_loops(1)->set_end(6);
            }),
            "loops[0].end: loops that nest expected, found 5");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops(0)->set_end(7); }),
            "loops[0].end: the index of a LOOP_END expected, found 7");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops(0)->set_end(5); }),
            "loops[1].begin: a marker of its own expected, found 5");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops(1)->clear_parent(); }),
            "loops[1].parent: 0 expected, found none");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops(1)->set_parent(1); }),
            "loops[1].parent: an index below 1 expected, found 1");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops(1)->set_trip_count(-1); }),
            "loops[1].trip_count: 0 to 9007199254740992 expected, found -1");
  EXPECT_EQ(
      ErrorAfter([](v1::Program& p) { p.mutable_loops(1)->set_trip_count(int64_t{1} << 53); }),
      "loops[1].trip_count: up to 2^53 executions in all expected, found 9007199254740992");
  EXPECT_EQ(ErrorAfter([](v1::Program& p) { p.mutable_loops()->RemoveLast(); }),
            "instructions[3].kind: a marker named by a loop expected, found none");
}

// `depth` loops, each inside the one before it. The outer 50 have two passes: 2^50 executions in
// all.
v1::Program LoopsInsideEachOther(int depth) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  for (int loop = 0; loop < depth; ++loop) builder.BeginLoop(loop < 50 ? 2 : 1);
  builder.AddInstruction(10, {Read(weights)});
  for (int loop = 0; loop < depth; ++loop) builder.EndLoop();
  return builder.BuildProto();
}

TEST(Program, RefusesLoopsNestedTooDeep) {
  const absl::StatusOr<Program> deepest = Program::FromProto(LoopsInsideEachOther(kMaxLoopDepth));
  EXPECT_TRUE(deepest.ok()) << deepest.status();
  for (const int depth : {65, 1000}) {
    EXPECT_EQ(std::string(Program::FromProto(LoopsInsideEachOther(depth)).status().message()),
              "loops[64].begin: at most 64 loops inside each other expected, found 65");
  }
}

TEST(Program, RefusesALoopMarkerOfAClassThatIsNotThere) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) {
              p.mutable_latency()->mutable_instructions(3)->set_latency_class(8);
            }),
            "latency.instructions[3].latency_class: an index below 8 expected");
}

TEST(Program, RefusesAWrongBaseline) {
  EXPECT_EQ(ErrorAfter([](v1::Program& p) {
              p.mutable_baseline()->mutable_mapping()->add_in_fast_memory(true);
            }),
            "baseline.mapping.in_fast_memory: 6 entries, one for each access, expected, found 1");
}

TEST(Program, RefusesASourceOfOtherInstructions) {
  const auto complete = [](v1::Program& p) {
    for (int i = 0; i < p.instructions_size(); ++i) p.mutable_source()->add_instructions();
    for (int t = 0; t < p.tensors_size(); ++t) p.mutable_source()->add_tensors();
    for (int l = 0; l < p.loops_size(); ++l) p.mutable_source()->add_loops();
  };
  EXPECT_EQ(ErrorAfter(complete), "");
  EXPECT_EQ(ErrorAfter([&](v1::Program& p) {
              complete(p);
              p.mutable_source()->mutable_instructions()->RemoveLast();
            }),
            "source.instructions: 8 elements expected, found 7");
  EXPECT_EQ(ErrorAfter([&](v1::Program& p) {
              complete(p);
              p.mutable_source()->add_loops();
            }),
            "source.loops: 2 elements expected, found 3");
}

// The message is sealed again after the damage, so that the test reaches the checks behind the
// fingerprint. A program that passes them must have a price.
TEST(Program, RandomDamageIsRefusedOrHarmless) {
  const std::string bytes = SerializeDeterministically(NestedLoops().BuildProto());
  std::mt19937 random(7);
  int parsed = 0;
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= 1 << random() % 8;
    }
    v1::Program proto;
    if (!ParseMessage(damaged, /*text=*/false, "damaged", proto).ok()) continue;
    ++parsed;
    SealProgram(proto);
    const absl::StatusOr<Program> program = Program::FromProto(proto);
    if (!program.ok()) continue;
    ++accepted;
    EXPECT_GE(SimulateAllHbm(*program).total_cycles, 0);
    EXPECT_GE(AllFastCycles(*program), 0);
  }
  // Both outcomes must occur.
  EXPECT_GT(accepted, 100);
  EXPECT_GT(parsed - accepted, 100);
}

}  // namespace
}  // namespace mallocmuzero
