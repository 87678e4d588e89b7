// Runs text that no compiler printed through the whole importer: the result must be an error or a
// program, never a crash.

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/baseline/baseline.h"
#include "simulator/import/import.h"
#include "simulator/import/latency/calibrate.h"
#include "simulator/import/latency/latency_fit.h"
#include "simulator/import/matching/match.h"
#include "simulator/import/matching/placement.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::MustAnalyze;
using testing::SmallHardware;

// A loop, a conditional, a call, fusions, copies of all kinds and estimates. The all-HBM compile is
// the same text with S(0) in place of S(3).
const char kModule[] = R"(HloModule jit_f, is_scheduled=true

%fused (p: f32[64], q: f32[8], r: s32[]) -> f32[64] {
  %p = f32[64] parameter(0)
  %q = f32[8] parameter(1)
  %r = s32[] parameter(2)
  %b = f32[64] bitcast(%p)
  ROOT %d = f32[64] dynamic-update-slice(%b, %q, %r)
}

%body (p: (s32[], f32[64], f32[8])) -> (s32[], f32[64], f32[8]) {
  %p = (s32[], f32[64]{0:S(3)}, f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[64]{0:S(3)} get-tuple-element(%p), index=1
  %y = f32[8] get-tuple-element(%p), index=2
  %one = s32[] constant(1)
  %n = s32[] add(%i, %one)
  %v = f32[64]{0:S(3)} fusion(%x, %y, %i), kind=kLoop, calls=%fused, backend_config={"window_config":{"estimated_cycles":"30"},"aliasing_operands":{"lists":[{"indices":["0","3"]}]}}
  ROOT %t = (s32[], f32[64]{0:S(3)}, f32[8]) tuple(%n, %v, %y)
}

%cond (p: (s32[], f32[64], f32[8])) -> pred[] {
  %p = (s32[], f32[64]{0:S(3)}, f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %m = s32[] constant(4)
  ROOT %c = pred[] compare(%i, %m), direction=LT
}

%left (p: f32[64]) -> f32[64] {
  %p = f32[64]{0:S(3)} parameter(0)
  ROOT %e = f32[64]{0:S(3)} negate(%p), backend_config={"window_config":{"estimated_cycles":"9"}}
}

%right (p: f32[64]) -> f32[64] {
  %p = f32[64]{0:S(3)} parameter(0)
  ROOT %e = f32[64]{0:S(3)} call(%p), to_apply=%left
}

ENTRY %main (a: f32[64], u: f32[8], s: s32[]) -> (f32[64], f32[64]) {
  %a = f32[64] parameter(0)
  %u = f32[8] parameter(1)
  %s = s32[]{:S(6)} parameter(2)
  %cs = (f32[64]{0:S(3)}, f32[64], u32[]{:S(2)}) copy-start(%a), cross_program_prefetch_index=0
  %z = s32[] constant(0)
  %k = f32[8] negate(%u), backend_config={"window_config":{"estimated_cycles":"20"}}
  %cd = f32[64]{0:S(3)} copy-done(%cs)
  %t = (s32[], f32[64]{0:S(3)}, f32[8]) tuple(%z, %cd, %k)
  %w = (s32[], f32[64]{0:S(3)}, f32[8]) while(%t), condition=%cond, body=%body
  %g = f32[64]{0:S(3)} get-tuple-element(%w), index=1
  %h = f32[64]{0:S(3)} conditional(%s, %g, %g), branch_computations={%left, %right}
  %os = (f32[64], f32[64]{0:S(3)}, u32[]{:S(2)}) copy-start(%h)
  %s0 = ((f32[64]), f32[32]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[0:32]}
  %s1 = ((f32[64]), f32[32]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[32:64]}
  %j = f32[64]{0:S(3)} custom-call(%h, %k), custom_call_target="f", output_to_operand_aliasing={{}: (0, {})}, backend_config={"used_scoped_memory_configs":[{"memory_space":"3","offset":"0","size":"64"}]}
  %d0 = f32[32]{0:S(3)} slice-done(%s0)
  %d1 = f32[32]{0:S(3)} slice-done(%s1)
  %cc = f32[64]{0:S(3)} custom-call(%d0, %d1), custom_call_target="ConcatBitcast"
  %o = f32[64] add(%cc, %j), backend_config={"window_config":{"estimated_cycles":"50"}}
  %od = f32[64] copy-done(%os)
  ROOT %r = (f32[64], f32[64]) tuple(%o, %od)
}
)";

// Runs `text` through all stages, once as the all-HBM compile, and once as the default of kModule.
class Pipeline {
 public:
  Pipeline() : valid_(MustAnalyze(kModule)) {}

  // True if the text was accepted.
  bool Run(std::string text) const {
    absl::StatusOr<hlo::Module> module = hlo::ParseModule(std::move(text), "test.hlo");
    if (!module.ok()) return false;
    auto analyzed = AnalyzeModule(*std::move(module), "test.hlo", {});
    if (!analyzed.ok()) {
      EXPECT_EQ(analyzed.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(analyzed.status().message()), ::testing::StartsWith("test.hlo:"));
      return false;
    }
    Import(*valid_, **analyzed);
    Import(**analyzed, *valid_);
    PriceSchedule(**analyzed, SmallHardware());
    return true;
  }

  static void Import(const AnalyzedModule& all_hbm, const AnalyzedModule& other) {
    Assembly assembly = Assemble(all_hbm, SmallHardware());
    if (assembly.program.instructions_size() == 0) return;
    const Match self = MatchModule(assembly.program, all_hbm);
    const Match match = MatchModule(assembly.program, other);
    if (match.report.matched_by_name() + match.report.matched_by_metadata() == 0) return;
    const std::vector<Placement> placements = {ReadPlacement(assembly.program, all_hbm, self),
                                               ReadPlacement(assembly.program, other, match)};
    const LatencyClasses classes = ClassifyInstructions(assembly.program, all_hbm);
    *assembly.program.mutable_latency() =
        *FitLatencyTable(assembly.program, classes, placements, -1);
    const auto calibration = Calibrate(assembly.program, classes, placements);
    EXPECT_TRUE(calibration.ok()) << calibration.status();
    if (calibration.ok()) *assembly.program.mutable_calibration() = *calibration;
    *assembly.program.mutable_baseline() = MakeBaseline(assembly.program, other, match);
    ExpectReadable(std::move(assembly.program));
  }

  // A program that the importer writes must be readable.
  static void ExpectReadable(v1::Program program) {
    SealProgram(program);
    v1::Program read;
    const absl::Status parsed =
        ParseMessage(SerializeDeterministically(program), /*text=*/false, "f", read);
    ASSERT_TRUE(parsed.ok()) << parsed;
    const absl::StatusOr<Program> checked = Program::FromProto(std::move(read));
    EXPECT_TRUE(checked.ok()) << checked.status();
  }

 private:
  std::unique_ptr<AnalyzedModule> valid_;
};

TEST(HostileModule, TheModuleItselfIsAccepted) {
  const Pipeline pipeline;
  EXPECT_TRUE(pipeline.Run(kModule));
  EXPECT_TRUE(pipeline.Run(absl::StrReplaceAll(kModule, {{"S(3)", "S(0)"}})));
}

TEST(HostileModule, TruncatedAnywhere) {
  const Pipeline pipeline;
  const std::string text = kModule;
  for (size_t length = 0; length < text.size(); length += 3) pipeline.Run(text.substr(0, length));
}

TEST(HostileModule, WithoutAnyOneLine) {
  const Pipeline pipeline;
  const std::string text = kModule;
  int accepted = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    accepted += pipeline.Run(text.substr(0, begin) + text.substr(end)) ? 1 : 0;
    begin = end;
  }
  EXPECT_GT(accepted, 0);
}

TEST(HostileModule, AnyNumberReplaced) {
  const Pipeline pipeline;
  const std::string text = kModule;
  int accepted = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9' || (text[i + 1] >= '0' && text[i + 1] <= '9')) continue;
    size_t begin = i;
    while (text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    for (const char* number :
         {"0", "1", "2", "3", "7", "63", "2147483647", "9223372036854775807"}) {
      accepted += pipeline.Run(text.substr(0, begin) + number + text.substr(i + 1)) ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(HostileModule, WordsExchanged) {
  const Pipeline pipeline;
  const std::vector<std::string> words = {"copy-start",
                                          "slice-start",
                                          "copy-done",
                                          "slice-done",
                                          "while",
                                          "conditional",
                                          "call",
                                          "fusion",
                                          "tuple",
                                          "parameter",
                                          "negate",
                                          "add",
                                          "bitcast",
                                          "custom-call",
                                          "scatter",
                                          "gather",
                                          "async-update",
                                          "all-gather-start",
                                          "convolution",
                                          "dot",
                                          "reduce",
                                          "all-reduce-done",
                                          "dynamic-update-slice",
                                          "opt-barrier",
                                          "copy"};
  const std::string text = kModule;
  for (const std::string& from : words) {
    for (const std::string& to : words) {
      for (size_t at = text.find(from + "("); at != std::string::npos;
           at = text.find(from + "(", at + 1)) {
        const std::string changed = text.substr(0, at) + to + text.substr(at + from.size());
        SCOPED_TRACE(absl::StrCat(from, " at ", at, " as ", to));
        pipeline.Run(changed);
      }
    }
  }
}

TEST(HostileModule, OperandsExchanged) {
  const Pipeline pipeline;
  std::mt19937 random(5);
  const std::vector<std::string> names = {"%a", "%u", "%s", "%cs", "%z", "%k", "%cd", "%t",  "%w",
                                          "%g", "%h", "%p", "%x",  "%y", "%i", "%s0", "%d0", "%os"};
  const std::string text = kModule;
  int accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string changed = text;
    for (unsigned changes = 0; changes <= random() % 3; ++changes) {
      const size_t at = changed.find('(', random() % changed.size());
      if (at == std::string::npos || changed.compare(at, 2, "(%") != 0) continue;
      const size_t end = changed.find_first_of(",)", at);
      changed.replace(at + 1, end - at - 1, names[random() % names.size()]);
    }
    accepted += pipeline.Run(std::move(changed)) ? 1 : 0;
  }
  EXPECT_GT(accepted, 100);
}

TEST(HostileModule, WithoutTheOperandsOfAnyInstruction) {
  const Pipeline pipeline;
  const std::string text = kModule;
  int accepted = 0;
  for (size_t at = text.find("(%"); at != std::string::npos; at = text.find("(%", at + 1)) {
    const size_t end = text.find(')', at);
    SCOPED_TRACE(text.substr(text.rfind('\n', at), end - text.rfind('\n', at)));
    accepted += pipeline.Run(text.substr(0, at + 1) + text.substr(end)) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
}

TEST(HostileModule, RandomBytes) {
  const Pipeline pipeline;
  std::mt19937 random(3);
  const std::string bytes = "(){}[],=%:\"0123456789sf \n-S";
  for (int round = 0; round < 1500; ++round) {
    std::string text = kModule;
    for (int change = 0; change < 3; ++change) {
      text[random() % text.size()] = bytes[random() % bytes.size()];
    }
    pipeline.Run(std::move(text));
  }
}

// The first half of a carried array is copied out again before its second half is copied in. All
// accesses in the loop are in HBM, so none of them extends the interval up to the copy.
TEST(HostileModule, ACopyOutBeforeTheLastPieceOfTheCopyIn) {
  const auto module = [](const std::string& copy_in, const std::string& copy_out,
                         const std::string& rest, const std::string& initial) {
    const std::string loop = testing::LoopModule(4, "%state = f32[8] negate(%x)");
    const std::string cycles = testing::Cycles(20);
    return MustAnalyze(absl::StrReplaceAll(
        loop,
        {{"%init = f32[8] parameter(0)\n",
          absl::StrCat("%init = f32[8] parameter(0)\n%k0 = f32[8] parameter(1)\n", copy_in,
                       "%k1 = f32[8] negate(%k0)", cycles, "\n", copy_out, "%k2 = f32[8] abs(%k1)",
                       cycles, "\n%k3 = f32[8] exponential(%k2)", cycles, "\n", rest)},
         {"tuple(%z, %init)", absl::StrCat("tuple(%z, ", initial, ")")}}));
  };
  const auto all_hbm = module("", "", "", "%init");
  const auto other = module(
      "%s0 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%init), slice={[0:4]}\n"
      "%d0 = f32[4]{0:S(3)} slice-done(%s0)\n",
      "%os = (f32[4], f32[4]{0:S(3)}, u32[]{:S(2)}) copy-start(%d0)\n"
      "%od = f32[4] copy-done(%os)\n",
      "%s1 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%init), slice={[4:8]}\n"
      "%d1 = f32[4]{0:S(3)} slice-done(%s1)\n"
      "%cc = f32[8]{0:S(3)} custom-call(%d0, %d1), custom_call_target=\"ConcatBitcast\"\n",
      "%cc");
  Pipeline::Import(*all_hbm, *other);
}

// A copy in of three pieces, one of which has no bytes. It starts before the others or with them.
TEST(HostileModule, APieceOfNoBytes) {
  const std::string use = absl::StrCat(" negate(%w)", testing::Cycles(20), "\n");
  const auto all_hbm = MustAnalyze(hlo::EntryModule(absl::StrCat(
      "%w = f32[8] parameter(0)\n%k = f32[8]", use, "%j = f32[8]", use, "ROOT %r = f32[8]", use)));
  const std::string empty =
      "%s0 = ((f32[8]), f32[0]{0:S(3)}, s32[]{:S(2)}) slice-start(%w), slice={[0:0]}\n";
  for (const bool early : {true, false}) {
    const auto other = MustAnalyze(hlo::EntryModule(absl::StrCat(
        "%w = f32[8] parameter(0)\n", early ? empty : "", "%k = f32[8]", use, early ? "" : empty,
        "%s1 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%w), slice={[0:4]}\n"
        "%s2 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%w), slice={[4:8]}\n"
        "%j = f32[8]",
        use,
        "%d0 = f32[0]{0:S(3)} slice-done(%s0)\n%d1 = f32[4]{0:S(3)} slice-done(%s1)\n"
        "%d2 = f32[4]{0:S(3)} slice-done(%s2)\n%cc = f32[8]{0:S(3)} custom-call(%d0, %d1, %d2), "
        "custom_call_target=\"ConcatBitcast\"\nROOT %r = f32[8] negate(%cc)",
        testing::Cycles(10))));
    Pipeline::Import(*all_hbm, *other);
  }
}

// An instruction with so many operands and results that time in their square would be minutes.
TEST(HostileModule, ManyArraysOfOneInstructionTakeLinearTime) {
  constexpr int kTimes = 1 << 17;
  std::string shapes = "f32[8]";
  for (int i = 1; i < kTimes; ++i) shapes += ", f32[8]";
  const std::string call =
      absl::StrCat(" custom-call(%a), custom_call_target=\"f\"", testing::Cycles(20), "\n");
  std::string operands;
  std::string elements;
  for (int i = 0; i < kTimes; ++i) {
    absl::StrAppend(&elements, "%e", i, " = f32[8] get-tuple-element(%t), index=", i, "\n");
    absl::StrAppend(&operands, i > 0 ? ", %e" : "%e", i);
  }
  const auto module = MustAnalyze(
      hlo::EntryModule(absl::StrCat("%a = f32[8] parameter(0)\n%t = (", shapes, ")", call, elements,
                                    "ROOT %r = f32[8] add(", operands, ")", testing::Cycles(20))));
  const v1::Program program = Assemble(*module, SmallHardware()).program;
  ASSERT_EQ(program.instructions_size(), 2);
  EXPECT_EQ(program.instructions(0).access_count(), 64);
  EXPECT_EQ(program.instructions(1).access_count(), 64);
  EXPECT_EQ(program.tensors_size(), kTimes + 2);
}

TEST(HostileModule, FilesGiveAStatus) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/hostile_module_test.hlo");
  const auto import = [&](absl::string_view text) {
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return ImportProgram({.all_hbm_path = path, .default_path = path}, SmallHardware()).status();
  };
  EXPECT_TRUE(import(kModule).ok()) << import(kModule);
  EXPECT_EQ(import("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(import("\x28\xb5\x2f\xfd garbage").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(import(hlo::EntryModule("ROOT %a = f32[8] parameter(0)")).message()),
              ::testing::HasSubstr("expected an instruction that takes time, found none"));
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    std::string text = kModule;
    text[random() % text.size()] = '0' + random() % 10;
    import(text).IgnoreError();
  }
}

TEST(HostileModule, TextThatIsNotUtf8GivesAProgramThatCanBeRead) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/not_utf_8_\xff.hlo");
  const std::string metadata = "), metadata={op_name=\"h\xc3\xa4lf \xff\"}, kind";
  ASSERT_TRUE(
      WriteFileAtomically(path, absl::StrReplaceAll(kModule, {{"), kind", metadata}})).ok());
  absl::StatusOr<v1::Program> program = ImportProgram(
      {.all_hbm_path = path, .default_path = path, .program_name = "\xfe"}, SmallHardware());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->name(), "?");
  EXPECT_EQ(program->matches(0).name(), "not_utf_8_?.hlo");
  EXPECT_THAT(SerializeDeterministically(*program), ::testing::HasSubstr("h\xc3\xa4lf ?"));
  Pipeline::ExpectReadable(*std::move(program));
}

}  // namespace
}  // namespace mallocmuzero
