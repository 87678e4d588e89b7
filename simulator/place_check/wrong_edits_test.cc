// Mistakes that a placer could make. The check must find each mistake and report the rule that it
// breaks.

#include <ostream>
#include <string>

#include "simulator/place_check/test_util.h"

namespace mallocmuzero::place_check {
namespace {

using Rule = PlacedRule;

struct WrongEdit {
  const char* name;
  const PlacedCase* base;
  const char* from;
  const char* to;
  Rule rule;
};

void PrintTo(const WrongEdit& edit, std::ostream* os) { *os << edit.name; }

// The base's placed text with `from` replaced by `to`. If `from` is "", appends `to`.
std::string Apply(const WrongEdit& edit) {
  const std::string text(edit.base->placed);
  return *edit.from == '\0' ? text + edit.to + "\n" : Replaced(text, edit.from, edit.to);
}

const WrongEdit kEdits[] = {
    // Values.
    {"OperandOfAnotherValue", &kChain, "fusion(x, wd)", "fusion(w, wd)", Rule::kOperandValue},
    {"OperandsSwapped", &kChain, "h = f32[1024] add(f3, g)", "h = f32[1024] add(g, f3)",
     Rule::kOperandValue},
    {"CopyOfAnotherValue", &kChain, "copy-start(w)", "copy-start(x)", Rule::kOperandValue},
    {"OperandViewedInAnotherShape", &kChain, "back = f32[1024]S1 bitcast(f1)",
     "back = f32[32,32]S1 bitcast(f1)", Rule::kOperandValue},
    {"ResultOfAnotherInstruction", &kChain, "  ROOT r = f32[1024] add(h, c)",
     "  r = f32[1024] add(h, c)\n  ROOT r.1 = f32[1024] bitcast(h)", Rule::kRootValue},
    {"StaleVersionUsedAfterUpdate", &kUpdate, "copy-start(up)", "copy-start(buffer)",
     Rule::kOperandValue},
    {"ResultTupleSwapped", &kUpdate, "tuple(after, down)", "tuple(down, after)", Rule::kRootValue},
    {"CarriedValuesSwapped", &kLoop, "tuple(ni, nx, bw, bf)", "tuple(ni, bf, bw, nx)",
     Rule::kCarriedValue},
    {"CarriedValueNotUpdated", &kLoop, "tuple(ni, nx, bw, bf)", "tuple(ni, bx, bw, bf)",
     Rule::kCarriedValue},
    {"AddedElementChanges", &kLoop, "tuple(ni, nx, bw, bf)", "tuple(ni, nx, bw, nx)",
     Rule::kCarriedValue},
    {"AddedElementOfAnotherValue", &kLoop, "tuple(count, start, w, wd)",
     "tuple(count, start, w, start)", Rule::kOperandValue},
    {"LoopReadsAnotherElement", &kLoop, "multiply(bx, bf)", "multiply(bf, bx)",
     Rule::kOperandValue},
    {"LoopEntersWithAnotherValue", &kLoop, "copy-start(w)", "copy-start(x)", Rule::kOperandValue},
    {"ConditionComparesOtherwise", &kLoop, "compare(ci, five)", "compare(five, ci)",
     Rule::kOperandValue},
    {"LoopResultTakenFromBefore", &kLoop, "copy-start(result)", "copy-start(start)",
     Rule::kRootValue},
    {"BranchGetsAnotherValue", &kBranches, "conditional(which, xd, t)", "conditional(which, yd, t)",
     Rule::kOperandValue},
    {"BranchReadsAnotherElement", &kBranches, "add(left, right)", "add(right, left)",
     Rule::kOperandValue},
    {"BranchGivesAnotherValue", &kBranches, "  ROOT n0 = f32[1024]S1 negate(p0)",
     "  n0 = f32[1024]S1 negate(p0)\n  ROOT v = f32[1024]S1 bitcast(p0)", Rule::kRootValue},
    {"BranchTupleSwapped", &kBranches, "tuple(x, y, yd)", "tuple(y, x, yd)", Rule::kOperandValue},

    // Parts that must not change.
    {"InstructionDropped", &kChain, "h = f32[1024] add(f3, g)", "h = f32[1024] bitcast(f3)",
     Rule::kDropped},
    {"InstructionAdded", &kChain, "g = f32[1024] negate(x)",
     "g = f32[1024] negate(x)\n  g.1 = f32[1024] negate(x)", Rule::kExtraInstruction},
    {"SynchronousCopyAdded", &kChain, "g = f32[1024] negate(x)",
     "g = f32[1024] negate(x)\n  g.1 = f32[1024]S1 copy(x)", Rule::kExtraInstruction},
    {"AddedConstantDiffers", &kLoopConstant, "again = f32[1024] constant() value=3",
     "again = f32[1024] constant() value=4", Rule::kOperandValue},
    {"AddedConstantHasAnotherType", &kLoopConstant, "again = f32[1024] constant() value=3",
     "other = s32[1024] constant() value=3\n  again = f32[1024] bitcast(other)",
     Rule::kOperandValue},
    {"AddedConstantWithoutLiteral", &kLoopConstant, "again = f32[1024] constant() value=3",
     "again = f32[1024] constant()", Rule::kExtraInstruction},
    {"AddedConstantInFastMemory", &kLoopConstant, "again = f32[1024] constant() value=3",
     "again = f32[1024] constant() value=3\n  fast = f32[1024]S1 constant() value=3",
     Rule::kExtraInstruction},
    {"AddedConstantOverwritten", &kLoopConstant, "tuple(start, cd)", "tuple(again, cd)",
     Rule::kReadOnly},
    {"OpcodeChanged", &kChain, "h = f32[1024] add", "h = f32[1024] subtract", Rule::kAttributes},
    {"ConstantChanged", &kChain, "value=3", "value=4", Rule::kAttributes},
    {"KernelOfCustomCallChanged", &kNested, "config=kernel", "config=other", Rule::kAttributes},
    {"TripCountChanged", &kLoop, "calls=body,condition", "calls=body,condition config=trips",
     Rule::kAttributes},
    {"ShapeChanged", &kChain, "g = f32[1024] negate", "g = f32[1025] negate", Rule::kShapeChanged},
    {"FusedInstructionChanged", &kChain, "ROOT q.add = f32[1024]S1 add",
     "ROOT q.add = f32[1024]S1 multiply", Rule::kCalledComputation},
    {"FusedOperandsSwapped", &kChain, "add(q.p0, q.p1)", "add(q.p1, q.p0)",
     Rule::kCalledComputation},
    {"ReducerChanged", &kNested, "s.add = f32[] add", "s.add = f32[] maximum",
     Rule::kCalledComputation},
    {"ReducerInFastMemory", &kNested, "s.p0 = f32[] ", "s.p0 = f32[]S1 ", Rule::kCalledComputation},
    {"FusedInsideMoved", &kNested, "o.abs = f32[1024] abs", "o.abs = f32[1024]S1 abs",
     Rule::kFusedSpace},
    {"AliasOfPairNotListed", &kListed, "over=0:0", "over=0:1", Rule::kAttributes},
    {"AliasOfOtherMemory", &kListed, "fusion(wd, m)", "fusion(w, m)", Rule::kAttributes},
    {"AliasOutOfRange", &kListed, "over=0:0", "over=7:0", Rule::kAttributes},
    {"AliasLost", &kUpdate, "target=Kernel over=0", "target=Kernel", Rule::kAttributes},
    {"AliasAddedToCustomCall", &kNested, "config=kernel", "config=kernel over=0",
     Rule::kAttributes},
    {"DonationLost", &kDonated, "alias 0 0", "", Rule::kModuleChanged},
    {"DonationOfAnotherResult", &kDonated, "alias 0 0", "alias 0 1", Rule::kModuleChanged},

    // Order of the schedule.
    {"UsedBeforeDone", &kChain, "", "swap main wd f1", Rule::kScheduleOrder},
    {"DoneBeforeStart", &kChain, "", "swap main ws wd", Rule::kScheduleOrder},
    {"OrderChanged", &kChain, "", "swap main f1 g", Rule::kOrderChanged},
    {"ControlDependencyBroken", &kChain, "", "swap main f1 g", Rule::kControlDependency},
    {"NotScheduled", &kChain, "", "unschedule main g", Rule::kSchedule},
    {"ScheduledTwice", &kChain, "", "repeat main g", Rule::kSchedule},
    {"BodyNotScheduled", &kLoop, "", "unschedule body nx", Rule::kSchedule},
    {"BodyInWrongOrder", &kLoop, "", "swap body bx nx", Rule::kScheduleOrder},

    // Pairs of start and done.
    {"DoneWithoutStart", &kChain, "wd = f32[1024]S1 copy-done(ws)", "wd = f32[1024]S1 copy-done(w)",
     Rule::kCopyPair},
    {"StartWithoutDone", &kChain, "g = f32[1024] negate(x)",
     "g = f32[1024] negate(x)\n  xs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(x)",
     Rule::kCopyPair},
    {"StartWithTwoDones", &kChain, "g = f32[1024] negate(x)",
     "g = f32[1024] negate(x)\n  w2 = f32[1024]S1 copy-done(ws)", Rule::kCopyPair},
    {"DestinationReadFromStart", &kChain, "wd = f32[1024]S1 copy-done(ws)",
     "wd = f32[1024]S1 get-tuple-element(ws) index=0", Rule::kCopyPair},

    // Shapes and spaces.
    {"CopyToOtherShape", &kChain, "ws = (f32[1024]S1, f32[1024], u32[]S2)",
     "ws = (f32[512]S1, f32[1024], u32[]S2)", Rule::kCopyShape},
    {"CopyFromOtherSpace", &kChain, "es = (f32[1024], f32[1024]S1, u32[]S2)",
     "es = (f32[1024], f32[1024], u32[]S2)", Rule::kCopyShape},
    {"DoneInOtherSpace", &kChain, "ed = f32[1024] copy-done", "ed = f32[1024]S1 copy-done",
     Rule::kCopyShape},
    {"BitcastChangesSpace", &kChain, "back = f32[1024]S1 bitcast", "back = f32[1024] bitcast",
     Rule::kForwardedShape},
    {"ElementOfOtherSpace", &kNested, "f0 = f32[1024]S1 get", "f0 = f32[1024] get",
     Rule::kForwardedShape},
    {"TupleOfOtherSpace", &kUpdate, "(f32[1024], f32[1024]) tuple",
     "(f32[1024]S1, f32[1024]) tuple", Rule::kForwardedShape},
    {"CopyMissing", &kChain, "f1 = f32[1024]S1 fusion(x, wd)", "f1 = f32[1024]S1 fusion(x, w)",
     Rule::kFusedSpace},
    {"FusedParameterInHbm", &kChain, "q.p1 = f32[1024]S1", "q.p1 = f32[1024]", Rule::kFusedSpace},
    {"FusedRootInHbm", &kChain, "ROOT q.add = f32[1024]S1", "ROOT q.add = f32[1024]",
     Rule::kFusedSpace},
    {"NestedParameterInHbm", &kNested, "i.p0 = f32[1024]S1", "i.p0 = f32[1024]", Rule::kFusedSpace},
    {"NestedRootInHbm", &kNested, "ROOT i.neg = f32[1024]S1", "ROOT i.neg = f32[1024]",
     Rule::kFusedSpace},
    {"ElementOfFusedTupleInHbm", &kNested, "o.f = f32[1024]S1", "o.f = f32[1024]",
     Rule::kFusedSpace},
    {"FusedTupleInHbm", &kNested, "ROOT o.t = (f32[1024]S1,", "ROOT o.t = (f32[1024],",
     Rule::kFusedSpace},
    {"BodyParameterInHbm", &kLoop, "bp = (s32[], f32[1024]S1,", "bp = (s32[], f32[1024],",
     Rule::kCallShape},
    {"BodyRootInHbm", &kLoop, "ROOT bt = (s32[], f32[1024]S1,", "ROOT bt = (s32[], f32[1024],",
     Rule::kCallShape},
    {"ConditionParameterInHbm", &kLoop, "cp = (s32[], f32[1024]S1,", "cp = (s32[], f32[1024],",
     Rule::kCallShape},
    {"LoopOperandInHbm", &kLoop, "  t = (s32[], f32[1024]S1,", "  t = (s32[], f32[1024],",
     Rule::kCallShape},
    {"BranchParameterInHbm", &kBranches, "p0 = f32[1024]S1", "p0 = f32[1024]", Rule::kCallShape},
    {"BranchRootInHbm", &kBranches, "ROOT s1 = f32[1024]S1", "ROOT s1 = f32[1024]",
     Rule::kCallShape},
    {"BranchLacksElement", &kBranches, "p1 = (f32[1024], f32[1024], f32[1024]S1)",
     "p1 = (f32[1024], f32[1024])", Rule::kCallShape},
    {"ConstantInFastMemory", &kChain, "c = f32[1024] constant", "c = f32[1024]S1 constant",
     Rule::kSpace},
    {"SentFromFastMemory", &kTransfer,
     "out = f32[1024] negate(x)\n"
     "  t = token[] after-all()\n"
     "  s = (f32[1024], u32[], token[]) send(out, t)",
     "out = f32[1024]S1 negate(x)\n"
     "  t = token[] after-all()\n"
     "  s = (f32[1024]S1, u32[], token[]) send(out, t)",
     Rule::kSpace},
    {"UnknownSpace", &kChain, "g = f32[1024] negate", "g = f32[1024]S5 negate", Rule::kSpace},
    {"ResultInFastMemory", &kChain, "ROOT r = f32[1024] add", "ROOT r = f32[1024]S1 add",
     Rule::kEntrySpace},
    {"ParameterInFastMemory", &kChain, "  x = f32[1024] parameter", "  x = f32[1024]S1 parameter",
     Rule::kEntrySpace},

    // Memory.
    {"UpdateIntoOtherSpace", &kUpdate, "fusion(buffer, y, i)", "fusion(bd, y, i)",
     Rule::kAliasSpace},
    {"CustomCallIntoOtherSpace", &kUpdate, "down = f32[1024] custom", "down = f32[1024]S1 custom",
     Rule::kAliasSpace},
    {"SourceOverwrittenDuringCopy", &kUpdate,
     "  up = f32[1024]S1 fusion(buffer, y, i) calls=update\n",
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(buffer)\n"
     "  up = f32[1024]S1 fusion(buffer, y, i) calls=update\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kWriteDuringCopy},
    {"CopyOfOverwrittenValue", &kUpdate, "  up = f32[1024]S1 fusion(buffer, y, i) calls=update\n",
     "  up = f32[1024]S1 fusion(buffer, y, i) calls=update\n"
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(buffer)\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kStaleRead},
    {"CopyOfOverwrittenCarriedValue", &kLoop, "  nx = f32[1024]S1 multiply(bx, bf)\n",
     "  nx = f32[1024]S1 multiply(bx, bf)\n"
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(bx)\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kStaleRead},
    {"CarriedValueOverwrittenDuringCopy", &kLoop, "  nx = f32[1024]S1 multiply(bx, bf)\n",
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(bx)\n"
     "  nx = f32[1024]S1 multiply(bx, bf)\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kWriteDuringCopy},
    {"LoopOverwritesDuringCopyFromOutside", &kLoop,
     "  loop = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) while(t) calls=body,condition\n",
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(start)\n"
     "  loop = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) while(t) calls=body,condition\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kWriteDuringCopy},
    {"InitialValueReadAfterLoop", &kLoop,
     "  rs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(result)\n",
     "  rs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(result)\n"
     "  zs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(start)\n"
     "  zd = f32[1024] copy-done(zs)\n",
     Rule::kStaleRead},
    {"OneBufferCarriedTwice", &kLoop, "tuple(count, start, w, wd)", "tuple(count, start, w, start)",
     Rule::kStaleRead},
    {"AddedElementFromOtherSpace", &kLoop, "tuple(ni, nx, bw, bf)", "tuple(ni, nx, bw, bw)",
     Rule::kForwardedShape},
    {"DonatedParameterReadAfterResult", &kDonated, "  ud = f32[1024] copy-done(us)\n",
     "  zs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(cache)\n"
     "  zd = f32[1024]S1 copy-done(zs)\n"
     "  ud = f32[1024] copy-done(us)\n",
     Rule::kStaleRead},

    // Collectives in flight.
    {"HalfGatheredArrayCopied", &kGather, "  gd = f32[1024]S1 all-gather-done(gs)\n",
     "  half = f32[1024]S1 get-tuple-element(gs) index=1\n"
     "  hs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(half)\n"
     "  hd = f32[1024] copy-done(hs)\n"
     "  gd = f32[1024]S1 all-gather-done(gs)\n",
     Rule::kMoveInFlight},
    {"GatherEndsInOtherSpace", &kGather, "gd = f32[1024]S1 all-gather-done",
     "gd = f32[1024] all-gather-done", Rule::kForwardedShape},
    {"GatherStatesOperandInOtherSpace", &kGather, "gs = (f32[512]S1,", "gs = (f32[512],",
     Rule::kForwardedShape},
    {"GatherReadsAnotherValue", &kGather, "all-gather-start(shard)", "all-gather-start(x)",
     Rule::kOperandValue},
    {"ArrayMovedBetweenFusionsOfAChain", &kGatherChain,
     "  d = f32[1024]S1 fusion(m1, m2) calls=finish over=1\n",
     "  hs = (f32[1024]S1, f32[1024]S1, u32[]S2) copy-start(m2)\n"
     "  hd = f32[1024]S1 copy-done(hs)\n"
     "  d = f32[1024]S1 fusion(m1, hd) calls=finish over=1\n",
     Rule::kMoveInFlight},
    {"ArrayMovedInALoopOfAChain", &kGatherLoop,
     "  m = (f32[1024]S1, f32[512], f32[1024], f32[1024]) fusion(bs, bd, bw)",
     "  hs = (f32[1024], f32[1024], u32[]S2) copy-start(bd)\n"
     "  hd = f32[1024] copy-done(hs)\n"
     "  m = (f32[1024]S1, f32[512], f32[1024], f32[1024]) fusion(bs, hd, bw)",
     Rule::kMoveInFlight},
    {"OperandOfAChainMovedInALoop", &kGatherLoop,
     "  m = (f32[1024]S1, f32[512], f32[1024], f32[1024]) fusion(bs, bd, bw)",
     "  hs = (f32[512], f32[512], u32[]S2) copy-start(bs)\n"
     "  hd = f32[512] copy-done(hs)\n"
     "  m = (f32[1024]S1, f32[512], f32[1024], f32[1024]) fusion(hd, bd, bw)",
     Rule::kMoveInFlight},
    {"ChainEndsInOtherSpace", &kGatherChain, "d = f32[1024]S1 fusion", "d = f32[1024] fusion",
     Rule::kAliasSpace},
    {"PermuteStatesItsSourceInOtherSpace", &kPermute, "ps = (f32[1024]S1,", "ps = (f32[1024],",
     Rule::kForwardedShape},
    {"PermuteFillsAnArrayOfOtherSpace", &kPermute, "into = f32[1024]S1", "into = f32[1024]",
     Rule::kAliasSpace},
    {"PermuteOfTwoFillsAnArrayOfOtherSpace", &kPermuteOfTwo,
     "  into1 = f32[512]S1 negate(w)\n"
     "  from = (f32[1024]S1, f32[512]) tuple(from0, from1)\n"
     "  into = (f32[1024], f32[512]S1)",
     "  into1 = f32[512] negate(w)\n"
     "  from = (f32[1024]S1, f32[512]) tuple(from0, from1)\n"
     "  into = (f32[1024], f32[512])",
     Rule::kAliasSpace},
    {"PermuteOfTwoStatesASourceInOtherSpace", &kPermuteOfTwo, "ps = ((f32[1024]S1, f32[512]),",
     "ps = ((f32[1024]S1, f32[512]S1),", Rule::kForwardedShape},
    {"FilledArrayCopiedUntilThePermuteBegins", &kPermute,
     "  at = (s32[]) tuple(i)\n"
     "  ps = (f32[1024]S1, f32[1024]S1, u32[], u32[]) "
     "collective-permute-start(from, into, at, at)\n",
     "  at = (s32[]) tuple(i)\n"
     "  hs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(into)\n"
     "  ps = (f32[1024]S1, f32[1024]S1, u32[], u32[]) "
     "collective-permute-start(from, into, at, at)\n"
     "  hd = f32[1024] copy-done(hs)\n",
     Rule::kWriteDuringCopy},
    {"FilledArrayCopiedDuringThePermute", &kPermute, "  other = f32[1024] negate(w)\n",
     "  other = f32[1024] negate(w)\n"
     "  hs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(into)\n"
     "  hd = f32[1024] copy-done(hs)\n",
     Rule::kStaleRead},
    {"HalfPermutedArrayCopied", &kPermute, "  other = f32[1024] negate(w)\n",
     "  other = f32[1024] negate(w)\n"
     "  half = f32[1024]S1 get-tuple-element(ps) index=1\n"
     "  hs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(half)\n"
     "  hd = f32[1024] copy-done(hs)\n",
     Rule::kMoveInFlight},

    // Cross-program prefetches.
    {"PrefetchNotListed", &kPrefetch, "prefetch 1", "", Rule::kCrossProgramPrefetch},
    {"PrefetchOfAnotherParameter", &kPrefetch, "prefetch 1", "prefetch 0",
     Rule::kCrossProgramPrefetch},
    {"PrefetchListedOnly", &kPrefetch, " prefetch=0", "", Rule::kCrossProgramPrefetch},

    // Stated shapes.
    {"OperandStatedElsewhere", &kNested,
     "k = f32[1024]S1 custom-call(f0, f1) target=Kernel stated=1",
     "k = f32[1024]S1 custom-call(f0, f1) target=Kernel", Rule::kStatedShape},
};

class WrongEdits : public testing::TestWithParam<WrongEdit> {};

TEST_P(WrongEdits, AreFound) {
  const WrongEdit& edit = GetParam();
  EXPECT_THAT(Check(edit.base->original, Apply(edit)), Breaks(edit.rule));
}

INSTANTIATE_TEST_SUITE_P(CheckPlaced, WrongEdits, testing::ValuesIn(kEdits),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mallocmuzero::place_check
