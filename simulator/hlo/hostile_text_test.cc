// Text that no compiler printed must give an error or a module, in time linear in its length. The
// texts are so long that quadratic time would exceed the test's time limit.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

// A module with an example of each construct that the parser reads.
constexpr char kModule[] =
    R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (0, {}, may-alias) }, frontend_attributes={a="}"}

FileNames
1 "cap.py"

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[]{:T(128)}, f32[8]{0:T(128)S(3)}) parameter(0)
  ROOT %t = (s32[], f32[8]) tuple(%p, /*index=1*/%p), control-predecessors={%p}
}

ENTRY %main (x: s4[8]) -> f32[] {
  %x = s4[8]{0:T(8,128)(8,1)E(4)} parameter(0), sharding={replicated}
  %c = f32[2,2]{1,0} constant({ { 1, 2 }, { nan, /*x*/ -inf } })
  %s = ((f32[2,2]), f32[1]{0:S(3)}, s32[]{:S(2)}) slice-start(f32[2,2] %c), slice={[0:1], [0:2]}
  %d = f32[1]{0:S(3)} slice-done(s), metadata={op_name="a\"b" stack_frame_id=1}
  %g = f32[2,2] all-gather(%c), replica_groups=mesh['x'=2] {'x'}, output_to_operand_aliasing={{}: (0, {})}
  ROOT %w = (s32[], f32[8]) while(%c), condition=%body, body=%body, backend_config={"known_trip_count":{"n":"12"},"window_config":{"estimated_cycles":"7"},"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"8"}],"aliasing_operands":{"lists":[{"indices":["0","1"]}]}}
}, execution_thread="main"
)";

// An error must be one line that starts with file, line and column.
void ExpectModuleOrOneLineError(const std::string& text) {
  const absl::StatusOr<Module> module = ParseModule(text, "test.hlo");
  if (module.ok()) return;
  EXPECT_THAT(std::string(module.status().message()),
              ::testing::MatchesRegex("test\\.hlo:[0-9]+:[0-9]+: expected [^\n]*, found [^\n]*"))
      << text;
}

TEST(HostileText, ModuleItselfIsValid) { MustParse(kModule); }

TEST(HostileText, TruncatedAnywhereGivesErrorOrModule) {
  const std::string text = kModule;
  for (size_t length = 0; length < text.size(); ++length) {
    ExpectModuleOrOneLineError(text.substr(0, length));
  }
}

TEST(HostileText, AnyByteReplacedGivesErrorOrModule) {
  std::string text = kModule;
  for (char& byte : text) {
    const char original = byte;
    for (const char other : {'\0', '\n', ' ', '"', '\\', '/', '*', '(', ')', '{',   '}',
                             '[',  ']',  ',', '=', '%',  ':', '-', '9', 'b', '\xff'}) {
      byte = other;
      ExpectModuleOrOneLineError(text);
    }
    byte = original;
  }
}

TEST(HostileText, AnyByteRemovedOrDoubledGivesErrorOrModule) {
  const std::string text = kModule;
  for (size_t i = 0; i < text.size(); ++i) {
    ExpectModuleOrOneLineError(text.substr(0, i) + text.substr(i + 1));
    ExpectModuleOrOneLineError(text.substr(0, i) + text[i] + text.substr(i));
  }
}

std::string Repeat(absl::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, piece);
  return text;
}

TEST(HostileText, DeepNestingIsNoStackOverflow) {
  constexpr int kDepth = 1 << 20;
  for (const absl::string_view open : {"(", "{", "[", "b("}) {
    const std::string deep = Repeat(open, kDepth);
    ParseError(absl::StrCat("HloModule m, x=", deep));
    ParseError(EntryModule(absl::StrCat("%a = ", deep)));
    ParseError(EntryModule(absl::StrCat("%a = f32[] constant(", deep)));
    ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), x=", deep)));
    ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), backend_config={\"x\":", deep)));
  }
}

TEST(HostileText, LongRunsTakeLinearTime) {
  constexpr int kTimes = 1 << 20;
  const std::string backslashes = Repeat("\\", kTimes);
  ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), x=\"", backslashes)));
  ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), x=\"", Repeat("\\\"", kTimes))));
  ParseError(EntryModule(Repeat("/*", kTimes)));
  ParseError(EntryModule(Repeat("/**/", kTimes)));
  ParseError(EntryModule(Repeat("//\n", kTimes)));
  ParseError(EntryModule(absl::StrCat("%a = f32[", Repeat("1,", kTimes))));
  ParseError(EntryModule(absl::StrCat("%a = f32[1]{0:T", Repeat("(1)", kTimes))));
  ParseError(EntryModule(absl::StrCat("%a = f32[1]{0:", Repeat("L(1)", kTimes))));
  ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), metadata={", Repeat("a=b ", kTimes))));
}

TEST(HostileText, ManyPartsTakeLinearTime) {
  constexpr int kTimes = 1 << 17;
  MustParse(EntryModule(
      absl::StrCat("%a = f32[] iota()\n%b = f32[] add(", Repeat("%a, ", kTimes), "%a)")));
  MustParse(EntryModule(absl::StrCat("%a = f32[] iota()", Repeat(", x=1", kTimes))));
  MustParse(EntryModule(absl::StrCat("%a = f32[] iota()", Repeat(", to_apply=%f", kTimes)),
                        "%f {%a = f32[] iota()}"));
  std::string instructions;
  std::string computations;
  for (int i = 0; i < kTimes; ++i) {
    absl::StrAppend(&instructions, "%a", i, " = f32[] odd", i, "()");
    absl::StrAppend(&computations, "%f", i, " {%a = f32[] iota()}");
  }
  MustParse(EntryModule(instructions, computations));
}

}  // namespace
}  // namespace mallocmuzero::hlo
