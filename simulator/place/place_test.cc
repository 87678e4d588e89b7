#include "simulator/place/place.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place/test_util.h"

namespace mallocmuzero::place {
namespace {

using place_check::ModuleFromText;
using testing::HasSubstr;
using testing::Not;

TEST(Place, EverythingInHbmIsTheModuleAsItWas) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  const std::string text = Place(chain, AllHbmMapping(chain.program));
  EXPECT_THAT(text, Not(HasSubstr("S(1)")));
  EXPECT_THAT(text, Not(HasSubstr("copy-start")));
}

// The mapping of the module kChain that has the result of %f1 in fast memory up to %f2.
Mapping ResultInFastMemory(const Program& program) {
  return OneStay(program, {.buffer = BufferMadeBy(program, "f1"),
                           .first = Number(program, "f1"),
                           .last = Number(program, "f2")});
}

TEST(Place, AResultInFastMemoryPassesThroughBitcastsIntoTheNextFusion) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  const std::string text = Place(chain, ResultInFastMemory(chain.program));
  EXPECT_THAT(text, HasSubstr("%f1 = f32[1024]{0:S(1)} fusion("));
  EXPECT_THAT(text, HasSubstr("%view = f32[32,32]{1,0:S(1)} bitcast(%f1)"));
  EXPECT_THAT(text, HasSubstr("%back = f32[1024]{0:S(1)} bitcast(%view)"));
  EXPECT_THAT(text, HasSubstr("%b.p0 = f32[1024]{0:S(1)} parameter(0)"));
  EXPECT_THAT(text, HasSubstr("%f2 = f32[1024]{0} fusion(%back)"));
}

// The mapping that has %shard and `whole` in fast memory from the start of a gather to its done,
// and `whole` up to its use by %sum.
Mapping GatherInFastMemory(const Program& program, BufferIndex whole, absl::string_view start,
                           absl::string_view done) {
  Mapping mapping = OneStay(program, {.buffer = BufferMadeBy(program, "shard"),
                                      .first = Number(program, "shard"),
                                      .last = Number(program, done)});
  const Interval of_whole = {.buffer = whole,
                             .first = Number(program, start),
                             .last = Number(program, "sum"),
                             .offset = 4096};
  AddStay(program, of_whole, mapping);
  return mapping;
}

TEST(Place, AnAsynchronousGatherHasItsArraysInFastMemory) {
  const Placeable gather = ImportOriginal(place_check::kGather);
  const Program& program = gather.program;
  const std::string text =
      Place(gather, GatherInFastMemory(program, BufferMadeBy(program, "gs"), "gs", "gd"));
  EXPECT_THAT(text, HasSubstr("%gs = (f32[512]{0:S(1)}, f32[1024]{0:S(1)}) all-gather-start(%sh"));
  EXPECT_THAT(text, HasSubstr("%late = f32[512]{0} negate(%shard)"));
  EXPECT_THAT(text, HasSubstr("%gd = f32[1024]{0:S(1)} all-gather-done(%gs)"));
}

TEST(Place, AGatheredArrayIsCopiedInAfterTheDone) {
  const Placeable gather = ImportOriginal(place_check::kGather);
  const Program& program = gather.program;
  const BufferIndex whole = BufferMadeBy(program, "gs");
  const InstructionIndex used = Number(program, "sum");
  const Interval stay = {
      .buffer = whole, .first = used, .last = used, .copy_in_start = used, .copy_in_done = used};
  const std::string text = Place(gather, OneStay(program, stay));
  EXPECT_THAT(text, HasSubstr("copy-start(%gd)"));
  EXPECT_THAT(text, HasSubstr("all-gather-start(%shard)"));
}

// As two gathers of one weight, for the forward and the backward pass.
TEST(Place, AnArrayThatTwoUpdatesBringStaysWhatItWas) {
  const Placeable gathers = Import(ModuleFromText(R"(
computation gather
  g.p = f32[512] parameter() number=0
  ROOT g.r = f32[1024] all-gather(g.p)
computation again
  a.p = f32[512] parameter() number=0
  ROOT a.r = f32[1024] all-gather(a.p)
entry main
  x = f32[512] parameter() number=0
  shard = f32[512] negate(x)
  s = ((), (), s32[]) async-start() calls=gather
  u = ((f32[512]), f32[1024], s32[]) async-update(s, shard)
  d = f32[1024] async-done(u)
  s2 = ((), (), s32[]) async-start() calls=again
  u2 = ((f32[512]), f32[1024], s32[]) async-update(s2, shard)
  d2 = f32[1024] async-done(u2)
  ROOT sum = f32[1024] add(d, d2)
)"));
  const std::string text = Place(gathers, AllHbmMapping(gathers.program));
  EXPECT_THAT(text, HasSubstr("async-update(%s2, %shard)"));
}

TEST(Place, AChainOfFusionsHasTheArraysOfItsGatherInFastMemory) {
  const Placeable gather = ImportOriginal(place_check::kGatherChain);
  const Program& program = gather.program;
  const std::string text =
      Place(gather, GatherInFastMemory(program, BufferMadeBy(program, "d"), "s", "d"));
  EXPECT_THAT(text, HasSubstr("%s = (f32[512]{0:S(1)}, f32[1024]{0:S(1)}) fusion(%shard)"));
  EXPECT_THAT(text, HasSubstr("%m.g = f32[1024]{0:S(1)} all-gather("));
  EXPECT_THAT(text, HasSubstr("%d = f32[1024]{0:S(1)} fusion(%m1, %m2)"));
}

TEST(Place, TwoFusionsOfOneComputationGetOneEach) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  const std::string text = Place(chain, ResultInFastMemory(chain.program));
  EXPECT_THAT(text, HasSubstr("%f1 = f32[1024]{0:S(1)} fusion(%x, %w), calls=%add,"));
  EXPECT_THAT(text, HasSubstr("calls=%add.placed."));
}

// The stay of %w in the module kChain from behind %f1 up to its use by %f3.
Interval StayOfCopy(const Program& program) {
  const InstructionIndex f3 = Number(program, "f3");
  return {.buffer = BufferMadeBy(program, "w"),
          .first = 1,
          .last = f3,
          .copy_in_start = 1,
          .copy_in_done = f3};
}

TEST(Place, CopiesStandWhereTheMappingHasThem) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  const std::string text = Place(chain, OneStay(chain.program, StayOfCopy(chain.program)));
  const size_t start = text.find("copy-start(%w)");
  const size_t done = text.find("copy-done(");
  ASSERT_NE(start, std::string::npos);
  ASSERT_NE(done, std::string::npos);
  EXPECT_LT(text.find("%f1 ="), start);
  EXPECT_LT(start, text.find("%f2 ="));
  EXPECT_LT(text.find("%f2 ="), done);
  EXPECT_LT(done, text.find("%f3 ="));
}

// The bitcast is written in its place because of its control dependency.
TEST(Place, ACopyIsStillThereBehindABitcastThatWaits) {
  const Placeable waits = Import(ModuleFromText(R"(
entry main
  x = f32[1024] parameter() number=0
  first = f32[1024] negate(x)
  view = f32[32,32] bitcast(x) after=first
  second = f32[1024] abs(x)
  last = f32[32,32] negate(view)
  ROOT r = (f32[1024], f32[1024], f32[32,32]) tuple(first, second, last)
)"));
  const Program& program = waits.program;
  const InstructionIndex begin = Number(program, "first");
  const std::string text = Place(waits, OneStay(program, {.buffer = BufferMadeBy(program, "x"),
                                                          .first = begin,
                                                          .last = Number(program, "second"),
                                                          .copy_in_start = begin,
                                                          .copy_in_done = begin}));
  EXPECT_THAT(text, HasSubstr("%second = f32[1024]{0} abs(%copy-done"));
}

TEST(Place, EstimatesOfAnotherPlacementAreStripped) {
  const Placeable chain = Import(
      ModuleFromText(place_check::Replaced(place_check::kChain.original, R"({"estimate":7})",
                                           R"({"window_config":{"estimated_cycles":"7"}})")));
  EXPECT_THAT(Text(chain.module), HasSubstr("estimated_cycles"));
  EXPECT_THAT(Place(chain, AllHbmMapping(chain.program)), Not(HasSubstr("estimated_cycles")));
}

TEST(Place, ACopyInPiecesIsRefusedWithTheValuesName) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  Interval stay = StayOfCopy(chain.program);
  stay.copy_in_slices = {{1, 2048}, {2, 2048}};
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(chain.program, OneStay(chain.program, stay), chain.module, chain.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("(%w, f32[1024]"));
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("in pieces"));
}

TEST(Place, ALoopThatTakesAValueTwiceGivesEachElementBack) {
  const Placeable loop = Import(ModuleFromText(R"(
computation body
  bp = (f32[1024], f32[1024], f32[1024]) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  bv = f32[1024] get-tuple-element(bp) index=1
  bw = f32[1024] get-tuple-element(bp) index=2
  nx = f32[1024] multiply(bx, bv)
  ny = f32[1024] multiply(nx, bw)
  ROOT bt = (f32[1024], f32[1024], f32[1024]) tuple(ny, bv, bw)
computation condition
  cp = (f32[1024], f32[1024], f32[1024]) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  start = f32[1024] copy(x)
  t = (f32[1024], f32[1024], f32[1024]) tuple(start, w, w)
  loop = (f32[1024], f32[1024], f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)"));
  EXPECT_THAT(Place(loop, AllHbmMapping(loop.program)), HasSubstr("tuple(%ny, %bv, %bw)"));
}

// %x is copied before the conditional, and only a conditional in a branch reads the copy.
TEST(Place, ABranchHandsACopyToTheConditionalInIt) {
  const Placeable branches = Import(ModuleFromText(R"(
computation low
  lp = f32[1024] parameter() number=0
  ROOT ln = f32[1024] negate(lp)
computation high
  hp = f32[1024] parameter() number=0
  ROOT hn = f32[1024] abs(hp)
computation one
  p0 = (pred[], f32[1024]) parameter() number=0
  inside = pred[] get-tuple-element(p0) index=0
  x0 = f32[1024] get-tuple-element(p0) index=1
  ROOT nested = f32[1024] conditional(inside, x0, x0) calls=low,high
computation two
  p1 = f32[1024] parameter() number=0
  ROOT n1 = f32[1024] negate(p1)
entry main
  which = pred[] parameter() number=0
  x = f32[1024] parameter() number=1
  first = f32[1024] negate(x)
  t = (pred[], f32[1024]) tuple(which, x)
  choice = f32[1024] conditional(which, t, first) calls=one,two
  ROOT r = f32[1024] negate(choice)
)"));
  const Program& program = branches.program;
  const InstructionIndex begin = Number(program, "first");
  const Interval stay = {.buffer = BufferMadeBy(program, "x"),
                         .first = begin,
                         .last = Number(program, "hn"),
                         .copy_in_start = begin,
                         .copy_in_done = begin};
  const std::string text = Place(branches, OneStay(program, stay));
  EXPECT_THAT(text, HasSubstr("%lp = f32[1024]{0:S(1)} parameter(0)"));
  EXPECT_THAT(text, HasSubstr("%hp = f32[1024]{0:S(1)} parameter(0)"));
}

// The access to %p0 and its update is one of the two smallest of 66, which the import leaves out.
TEST(Place, AnUpdateTooSmallForAnAccessIsFoundAgain) {
  std::string fused = "computation mix\n";
  std::string entry = "entry main\n";
  std::vector<std::string> inside;
  std::vector<std::string> operands;
  for (int i = 0; i < 66; ++i) {
    const std::string parameter = absl::StrCat(" = f32[", 8 * (i + 1), "] parameter() number=", i);
    inside.push_back(absl::StrCat("m", i));
    operands.push_back(absl::StrCat("p", i));
    absl::StrAppend(&fused, "  ", inside.back(), parameter, "\n");
    absl::StrAppend(&entry, "  ", operands.back(), parameter, "\n");
  }
  absl::StrAppend(&fused, "  ROOT m = f32[8] custom-call(", absl::StrJoin(inside, ", "),
                  ") target=Mix\n");
  absl::StrAppend(&entry, "  up = f32[8] fusion(", absl::StrJoin(operands, ", "),
                  R"() calls=mix config={"aliasing_operands":{"lists":[{"indices":["0","66"]}]}})",
                  "\n  ROOT r = f32[8] negate(up)\n");
  const Placeable small = ImportWithDefault(ModuleFromText(fused + entry));
  ASSERT_EQ(BufferMadeBy(small.program, "p0"), BufferMadeBy(small.program, "up"));
  ASSERT_EQ(small.program.MessageOf(Number(small.program, "up")).access_count(), 64);
  EXPECT_THAT(Place(small, AllHbmMapping(small.program)), HasSubstr("negate(%up)"));
}

TEST(Place, ABitcastToAnotherNumberOfBytesIsInFastMemory) {
  const Placeable view = Import(ModuleFromText(R"(
entry main
  p = f32[3,128] parameter() number=0
  x = f32[3,128] negate(p)
  v = f32[8,128] bitcast(x)
  ROOT r = f32[8,128] negate(v)
)"));
  EXPECT_THAT(Place(view, AllHbmMapping(view.program)), HasSubstr("negate(%v)"));
  const std::string text =
      Place(view, OneStay(view.program, {.buffer = BufferMadeBy(view.program, "x"),
                                         .first = Number(view.program, "x"),
                                         .last = Number(view.program, "r")}));
  EXPECT_THAT(text, HasSubstr("%v = f32[8,128]{1,0:S(1)} bitcast(%x)"));
}

// A function that called itself for each bitcast would overflow the stack.
TEST(Place, AnyNumberOfBitcastsOneBehindTheOther) {
  constexpr int kBitcasts = 1 << 16;
  std::string text =
      "entry main\n  x = f32[1024] parameter() number=0\n  b0 = f32[1024] negate(x)\n";
  for (int k = 1; k <= kBitcasts; ++k) {
    absl::StrAppend(&text, "  b", k, " = f32[1024] bitcast(b", k - 1, ")\n");
  }
  absl::StrAppend(&text, "  ROOT r = f32[1024] negate(b", kBitcasts, ")\n");
  const Placeable chain = Import(ModuleFromText(text));
  const std::string placed = Place(chain, AllHbmMapping(chain.program));
  EXPECT_THAT(placed, HasSubstr(absl::StrCat("negate(%b", kBitcasts, ")")));
}

TEST(Place, ACallIsRefused) {
  const Placeable calls = Import(ModuleFromText(R"(
computation inner
  p = f32[1024] parameter() number=0
  ROOT n = f32[1024] negate(p)
entry main
  x = f32[1024] parameter() number=0
  ROOT c = f32[1024] call(x) calls=inner
)"));
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(calls.program, AllHbmMapping(calls.program), calls.module, calls.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("%c: a call of a computation"));
}

TEST(Place, AnotherModuleIsRefused) {
  const Placeable chain = ImportOriginal(place_check::kChain);
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(chain.program, AllHbmMapping(chain.program),
                  ModuleFromText(place_check::kUpdate.original), "other.pb");
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("other.pb: expected"));
}

TEST(Place, AnInstructionThatStatesMoreOperandsThanItHasIsRefused) {
  xla::HloModuleProto module = ModuleFromText(place_check::kChain.original);
  for (xla::HloComputationProto& computation : *module.mutable_computations()) {
    for (xla::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      if (instruction.name() != "f1") continue;
      for (int i = 0; i <= instruction.operand_ids_size(); ++i) {
        *instruction.add_operand_shapes_with_layout() = instruction.shape();
      }
    }
  }
  const Placeable chain = Import(std::move(module));
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(chain.program, AllHbmMapping(chain.program), chain.module, chain.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()),
              HasSubstr("%f1: expected operand_shapes_with_layout of at most"));
}

// The name of the module is no UTF-8, which protobuf would report by itself.
TEST(LoadModule, ReportsDamageInItsStatusOnly) {
  const std::string path = absl::StrCat(testing::TempDir(), "/damaged.pb");
  ASSERT_TRUE(WriteFileAtomically(path, "\x0A\x02\xff\xfe").ok());
  testing::internal::CaptureStderr();
  EXPECT_THAT(std::string(LoadModule(path).status().message()),
              HasSubstr("damaged.pb: expected a serialised HloModuleProto"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mallocmuzero::place
