// Reads and writes of asynchronous operations between their starts and their dones.

#include "simulator/place_check/flights.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "simulator/place_check/test_util.h"

namespace mallocmuzero::place_check {
namespace {

using testing::IsEmpty;

PlacedCheckOptions AnyOrder() {
  PlacedCheckOptions options = TestOptions();
  options.allow_reordering = true;
  return options;
}

TEST(CheckFlights, FindsAWriteOverWhatASendStillReads) {
  const std::string original = R"(
entry main
  x = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  out = f32[1024] negate(x)
  t = token[] after-all()
  s = (f32[1024], u32[], token[]) send(out, t)
  sd = token[] send-done(s)
  up = f32[1024] dynamic-update-slice(out, y, i)
  ROOT r = f32[1024] negate(up)
)";
  EXPECT_THAT(Check(original, original), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap main sd up\n", AnyOrder()),
              Breaks(PlacedRule::kWriteDuringCopy));
}

TEST(CheckFlights, FindsAReadOfWhatARecvOverwrites) {
  // A pass receives the array that the next pass begins with.
  const std::string original = R"(
computation body
  bp = (s32[], f32[1024], f32[1024]) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bx = f32[1024] get-tuple-element(bp) index=1
  bs = f32[1024] get-tuple-element(bp) index=2
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  t = token[] after-all()
  ns = f32[1024] add(bs, bx)
  r = (f32[1024], u32[], token[]) recv(t)
  rd = (f32[1024], token[]) recv-done(r)
  came = f32[1024] get-tuple-element(rd) index=0
  ROOT bt = (s32[], f32[1024], f32[1024]) tuple(ni, came, ns)
computation condition
  cp = (s32[], f32[1024], f32[1024]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=5
  ROOT less = pred[] compare(ci, five)
entry main
  x = f32[1024] parameter() number=0
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  start = f32[1024] copy(x)
  sum = f32[1024] copy(x)
  state = (s32[], f32[1024], f32[1024]) tuple(count, start, sum)
  loop = (s32[], f32[1024], f32[1024]) while(state) calls=body,condition
  ROOT result = f32[1024] get-tuple-element(loop) index=2
)";
  EXPECT_THAT(Check(original, original), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap body ns r\n", AnyOrder()),
              Breaks(PlacedRule::kStaleRead));
}

// The update brings the operand, as for a gather that a SparseCore runs.
constexpr char kUpdatedInFlight[] = R"(
computation gather
  g.p = f32[512] parameter() number=0
  ROOT g.r = f32[1024] all-gather(g.p)
entry main
  x = f32[512] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  shard = f32[512] negate(x)
  s = ((), (), s32[]) async-start() calls=gather
  u = ((f32[512]), f32[1024], s32[]) async-update(s, shard)
  d = f32[1024] async-done(u)
  up = f32[512] dynamic-update-slice(shard, y, i)
  ROOT r = (f32[1024], f32[512]) tuple(d, up)
)";

TEST(CheckFlights, FindsAWriteOverWhatAnAsynchronousUpdateBrought) {
  EXPECT_THAT(Check(kUpdatedInFlight, kUpdatedInFlight), IsEmpty());
  EXPECT_THAT(
      Check(kUpdatedInFlight, absl::StrCat(kUpdatedInFlight, "swap main d up\n"), AnyOrder()),
      Breaks(PlacedRule::kWriteDuringCopy));
}

// The same operand, brought by the start. It may be overwritten after the done, which waits for the
// update.
TEST(CheckFlights, AnAsynchronousOperationReadsUpToItsDone) {
  const std::string original =
      Replaced(Replaced(kUpdatedInFlight, "s = ((), (), s32[]) async-start()",
                        "s = ((f32[512]), f32[1024], s32[]) async-start(shard)"),
               "async-update(s, shard)", "async-update(s)");
  EXPECT_THAT(Check(original, original), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap main d up\n", AnyOrder()),
              Breaks(PlacedRule::kWriteDuringCopy));
}

// The chain of kGatherChain, followed by these lines.
std::string AfterGatherChain(absl::string_view computations, absl::string_view lines) {
  return Replaced(
      Replaced(kGatherChain.original, "entry main\n", absl::StrCat(computations, "entry main\n")),
      "  ROOT sum = f32[1024] add(d, m0)\n", lines);
}

TEST(CheckFlights, FindsAReadAfterAnUpdateOfAnArrayThatWasInFlight) {
  const std::string original = AfterGatherChain(R"(
computation update
  u.p0 = f32[512] parameter() number=0
  u.p1 = f32[16] parameter() number=1
  u.p2 = s32[] parameter() number=2
  ROOT u.dus = f32[512] dynamic-update-slice(u.p0, u.p1, u.p2)
)",
                                                R"(
  y = f32[16] parameter() number=2
  i = s32[] parameter() number=3
  late = f32[512] negate(shard)
  up = f32[512] fusion(m1, y, i) calls=update
  sum = f32[1024] add(d, m0)
  ROOT r = (f32[1024], f32[512], f32[512]) tuple(sum, late, up)
)");
  EXPECT_THAT(Check(original, original), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap main late up\n", AnyOrder()),
              Breaks(PlacedRule::kStaleRead));
}

TEST(CheckFlights, FindsAReadAfterALoopThatChangesAnArrayThatWasInFlight) {
  const std::string original = AfterGatherChain(R"(
computation body
  bp = (s32[], f32[512]) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bx = f32[512] get-tuple-element(bp) index=1
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  nx = f32[512] negate(bx)
  ROOT bt = (s32[], f32[512]) tuple(ni, nx)
computation condition
  cp = (s32[], f32[512]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=5
  ROOT less = pred[] compare(ci, five)
)",
                                                R"(
  late = f32[512] negate(shard)
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  state = (s32[], f32[512]) tuple(count, m1)
  loop = (s32[], f32[512]) while(state) calls=body,condition
  lx = f32[512] get-tuple-element(loop) index=1
  sum = f32[1024] add(d, m0)
  ROOT r = (f32[1024], f32[512], f32[512]) tuple(sum, late, lx)
)");
  EXPECT_THAT(Check(original, original), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap main late sum\n", AnyOrder()),
              Breaks(PlacedRule::kStaleRead));
}

// Two fusions, neither of which uses the other's result. The second one has an all-reduce, and the
// first one has `lines`, which use its parameter %a.p.
std::string TwoFusions(absl::string_view computations, absl::string_view lines) {
  return absl::StrCat(R"(
computation sum
  s.p0 = f32[] parameter() number=0
  s.p1 = f32[] parameter() number=1
  ROOT s.add = f32[] add(s.p0, s.p1)
)",
                      computations, R"(computation first
  a.p = f32[1024] parameter() number=0
)",
                      lines, R"(computation second
  b.p = f32[1024] parameter() number=0
  ROOT b.r = f32[1024] all-reduce(b.p) calls=sum
entry main
  x = f32[1024] parameter() number=0
  y = f32[1024] parameter() number=1
  f1 = f32[1024] fusion(x) calls=first
  f2 = f32[1024] fusion(y) calls=second
  ROOT r = (f32[1024], f32[1024]) tuple(f1, f2)
)");
}

TEST(CheckFlights, CollectivesInsideFusionsKeepTheirOrder) {
  const std::string original = TwoFusions("", "  ROOT a.r = f32[1024] all-reduce(a.p) calls=sum\n");
  EXPECT_THAT(Check(original, original, AnyOrder()), IsEmpty());
  EXPECT_THAT(Check(original, original + "swap main f1 f2\n", AnyOrder()),
              Breaks(PlacedRule::kOrderChanged));
}

TEST(CheckFlights, CollectivesInsideFusionsOfFusionsKeepTheirOrder) {
  const std::string original = TwoFusions(R"(computation inner
  i.p = f32[1024] parameter() number=0
  ROOT i.r = f32[1024] all-reduce(i.p) calls=sum
)",
                                          "  ROOT a.f = f32[1024] fusion(a.p) calls=inner\n");
  EXPECT_THAT(Check(original, original + "swap main f1 f2\n", AnyOrder()),
              Breaks(PlacedRule::kOrderChanged));
}

TEST(CheckFlights, FusionsWithoutCollectivesMayRunInAnyOrder) {
  const std::string original = TwoFusions(R"(computation inner
  i.p = f32[1024] parameter() number=0
  ROOT i.r = f32[1024] negate(i.p)
)",
                                          "  ROOT a.f = f32[1024] fusion(a.p) calls=inner\n");
  EXPECT_THAT(Check(original, original + "swap main f1 f2\n", AnyOrder()), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero::place_check
