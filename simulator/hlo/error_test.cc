// Error messages of the parser: file, line, column, what was expected and what was found.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

struct BadText {
  std::string text;
  std::string message;
};

// Lines of an ENTRY computation; the first line has the number 4.
const BadText kBadBodies[] = {
    {"  %a = f32[] iota()\n  %b = f33[] negate(%a)", "5:8: expected a shape, found 'f33'"},
    {"  %a = f32[] iota()\n  %b = f32[] add(%a, %c)\n  %c = f32[] iota()",
     "5:22: expected an instruction that is defined before its use, found '%c'"},
    {"  %a = f32[] negate(%a)",
     "4:21: expected an instruction that is defined before its use, found '%a'"},
    {"  %a = f32[] iota()\n  %a = f32[] iota()",
     "5:3: expected an instruction name that is not taken yet, found '%a'"},
    {"  ROOT %a = f32[] iota()\n  ROOT %b = f32[] iota()",
     "5:3: expected only one ROOT instruction, found 'ROOT'"},
    {"  %a f32[] iota()", "4:6: expected '=', found 'f32'"},
    {"  %a = f32[] (%b)", "4:14: expected an opcode, found '('"},
    {"  %a = f32[] iota", "5:1: expected '(', found '}'"},
    {"  %a = f32[] iota(,)", "4:19: expected an instruction, found ','"},
    {"  %a = f32[] iota() dimensions={0}", "4:32: expected a shape, found '{'"},
    {"  %a = f32[] iota(), =3", "4:22: expected an attribute, found '='"},
    {"  %a = f32[] iota(), kind=", "5:1: expected a value, found '}'"},
    {"  %a = f32[] iota(), kind=/* x", "4:27: expected a value, found '/'"},
    {"  %a = f32[] iota(), kind=[", "5:1: expected ']', found '}'"},
    {"  %a = f32[] iota(), kind={", "6:1: expected an instruction, found end of text"},
    {"  %a = f32[] iota(), kind={{", "4:27: expected a bracket that is closed, found '{'"},
    {"  %a = f32[] iota(), kind=\"x", "4:27: expected a string that ends with '\"', found '\"'"},
    {"  %a = f32[] iota(), custom_call_target=X",
     "4:41: expected a string in double quotes, found 'X'"},
    {"  %a = f32[] iota(), metadata={3}", "4:33: expected '=', found '}'"},
    {"  %a = f32[] iota(), to_apply=%gone",
     "4:31: expected the name of a computation in this module, found '%gone'"},
    {"  %a = f32[] call(), to_apply=%main",
     "4:31: expected a computation that does not call itself, found '%main'"},
    {"  %a = f32[] parameter(x)", "4:24: expected a parameter number, found 'x'"},
    {"  %a = f32[] parameter(1)", "3:1: expected parameters numbered 0 to 0, found 'ENTRY'"},
    {"  %a = f32[] parameter(0)\n  %b = f32[] parameter(0)",
     "3:1: expected parameters numbered 0 to 1, found 'ENTRY'"},
    {"  %a = (f32[]) parameter(0)\n  %b = f32[] get-tuple-element(%a), index=1",
     "5:43: expected the index of an element of the operand, found '1'"},
    {"  %a = (f32[]) parameter(0)\n  ROOT %b = f32[] get-tuple-element(%a), metadata={}",
     "5:8: expected a get-tuple-element with index=, found '%b'"},
    {"  %a = f32[] parameter(0)\n  %b = f32[] negate(%a), output_to_operand_aliasing={{}: (1, {})}",
     "5:59: expected one of 1 operands, found '1'"},
    {"  %a = f32[] iota(), control-predecessors={%z}",
     "4:44: expected an instruction that is defined before its use, found '%z'"},
    {"", "5:1: expected an instruction, found '}'"},
};

TEST(ParseModule, SaysWhereAnInstructionIsWrong) {
  for (const BadText& bad : kBadBodies) {
    EXPECT_EQ(ParseError(EntryModule(bad.text)), "test.hlo:" + bad.message) << bad.text;
  }
}

const BadText kBadModules[] = {
    {"", "1:1: expected 'HloModule', found end of text"},
    {"ENTRY e { a = f32[] iota() }", "1:1: expected 'HloModule', found 'ENTRY'"},
    {"HloModule", "1:10: expected a module name, found end of text"},
    {"HloModule m, ", "1:14: expected a module attribute, found end of text"},
    {"HloModule m, input_output_alias={ {}: (0, {}, no-alias) }",
     "1:47: expected 'may-alias' or 'must-alias', found 'no-alias'"},
    {"HloModule m, input_output_alias={ {-1}: (0, {}) }",
     "1:36: expected a tuple index, found '-1'"},
    {"HloModule m\n", "2:1: expected an ENTRY computation, found end of text"},
    {"HloModule m\nf { a = f32[] iota() }\n",
     "3:1: expected an ENTRY computation, found end of text"},
    {"HloModule m\nENTRY f {a = f32[] iota()}\nENTRY g {a = f32[] iota()}",
     "3:1: expected only one ENTRY computation, found 'ENTRY'"},
    {"HloModule m\nf {a = f32[] iota()}\nENTRY f {a = f32[] iota()}",
     "3:7: expected a computation name that is not taken yet, found 'f'"},
    {"HloModule m\nENTRY f (x: f32[]) {a = f32[] iota()}", "2:20: expected '-', found '{'"},
    {"HloModule m\nENTRY f {a = f32[] iota()", "2:26: expected an instruction, found end of text"},
    {"HloModule m\nENTRY f {a = f32[] iota()} ]", "2:28: expected a computation, found ']'"},
    {"HloModule m\nENTRY f {a = f32[] iota()} \x01", "2:28: expected a computation, found '\\x01'"},
    {"HloModule m\nENTRY f {a = f32[] iota()} /* g", "2:28: expected a computation, found '/'"},
    {"HloModule m\nENTRY f {a = f32[] constant({1, /*i})}",
     "2:33: expected a comment that is closed, found '/'"},
    {"HloModule m\nENTRY e {x = f32[] call(), to_apply=g}\n"
     "f {x = f32[] call(), to_apply=g}\ng {x = f32[] call(), to_apply=f}",
     "2:37: expected a computation that does not call itself, found 'g'"},
};

TEST(ParseModule, SaysWhereAModuleIsWrong) {
  for (const BadText& bad : kBadModules) {
    EXPECT_EQ(ParseError(bad.text), "test.hlo:" + bad.message) << bad.text;
  }
}

}  // namespace
}  // namespace mallocmuzero::hlo
