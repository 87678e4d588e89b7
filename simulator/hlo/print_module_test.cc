#include "simulator/hlo/print_module.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two numbers of the same type, one after the other, and their sum. The schedule swaps the first
// two. Instructions have the ids 10, 11 and 12.
constexpr char kSum[] = R"pb(
  name: "m"
  entry_computation_id: 1
  computations {
    name: "main"
    id: 1
    root_id: 12
    instructions {
      name: "a"
      opcode: "parameter"
      shape { element_type: 11 }
      id: 10
    }
    instructions {
      name: "b"
      opcode: "constant"
      shape { element_type: 4 }
      literal {
        shape { element_type: 4 }
        s32s: -3
      }
      id: 11
    }
    instructions {
      name: "c"
      opcode: "add"
      shape { element_type: 11 }
      id: 12
      operand_ids: [ 10, 11 ]
    }
  }
  schedule {
    sequences {
      key: 1
      value { instruction_ids: [ 11, 10, 12 ] }
    }
  }
)pb";

// A start, an update and a done of an asynchronous operation. Each test writes computation 1, the
// operation.
constexpr char kAsync[] = R"pb(
  name: "m"
  entry_computation_id: 2
  computations {
    name: "wrapped"
    id: 1
    root_id: 2
    instructions {
      name: "p"
      opcode: "parameter"
      shape { element_type: 11 }
      id: 1
    }
    instructions {
      name: "inner"
      opcode: "OPCODE"
      shape { element_type: 11 }
      id: 2
      operand_ids: 1
      metadata { op_name: "inner" }
    }
  }
  computations {
    name: "main"
    id: 2
    root_id: 14
    instructions {
      name: "a"
      opcode: "parameter"
      shape { element_type: 11 }
      id: 10
    }
    instructions {
      name: "b"
      opcode: "parameter"
      shape { element_type: 11 }
      parameter_number: 1
      id: 11
    }
    instructions {
      name: "start"
      opcode: "async-start"
      shape { element_type: 13 }
      id: 12
      operand_ids: [ 10, 11 ]
      called_computation_ids: 1
      metadata { op_name: "outer" }
    }
    instructions {
      name: "update"
      opcode: "async-update"
      shape { element_type: 13 }
      id: 13
      operand_ids: [ 12, 11 ]
    }
    instructions {
      name: "done"
      opcode: "async-done"
      shape { element_type: 11 }
      id: 14
      operand_ids: 13
      called_computation_ids: 1
    }
  }
)pb";

xla::HloModuleProto Proto(const std::string& text) {
  xla::HloModuleProto module;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &module));
  return module;
}

std::string MustPrint(const xla::HloModuleProto& module) {
  const absl::StatusOr<std::string> text = PrintModule(module);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

std::string PrintError(const xla::HloModuleProto& module) {
  const absl::Status status = PrintModule(module).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  return std::string(status.message());
}

// The error for kSum with one piece of its text replaced.
std::string ErrorWith(absl::string_view old_text, absl::string_view new_text) {
  return PrintError(Proto(absl::StrReplaceAll(kSum, {{old_text, new_text}})));
}

TEST(PrintModule, WritesInstructionsInTheOrderOfTheSchedule) {
  EXPECT_EQ(MustPrint(Proto(kSum)),
            "HloModule m, is_scheduled=true\n\nENTRY %main {\n"
            "  %b = s32[] constant(-3)\n"
            "  %a = f32[] parameter(0)\n"
            "  ROOT %c = f32[] add(%a, %b)\n}\n");
}

TEST(PrintModule, WritesInstructionsAsTheyStandWithoutSchedule) {
  xla::HloModuleProto module = Proto(kSum);
  module.clear_schedule();
  const std::string text = MustPrint(module);
  EXPECT_THAT(text, HasSubstr("HloModule m\n"));
  EXPECT_LT(text.find("%a ="), text.find("%b ="));
}

TEST(PrintModule, AsynchronousInstructionStandsWhereItIsStarted) {
  const Module module =
      MustParse(MustPrint(Proto(absl::StrReplaceAll(kAsync, {{"OPCODE", "negate"}}))));
  EXPECT_EQ(module.computations.size(), 1);
  EXPECT_EQ(Get(module, "start").opcode_text, "negate-start");
  EXPECT_EQ(Get(module, "start").op_name, "outer");
  EXPECT_EQ(Get(module, "update").opcode_text, "negate-update");
  EXPECT_EQ(Get(module, "update").operands.size(), 2);
  EXPECT_EQ(Get(module, "done").opcode_text, "negate-done");
  EXPECT_EQ(Get(module, "done").wrapped_opcode, Opcode::kNegate);
}

// Printed in place, a wrapped copy would become a "copy-start", which is an opcode of its own, and
// "whirl-start" would be unknown.
TEST(PrintModule, AsynchronousInstructionThatWouldReadDifferentlyStaysACall) {
  for (const absl::string_view opcode : {"copy", "whirl"}) {
    const Module module =
        MustParse(MustPrint(Proto(absl::StrReplaceAll(kAsync, {{"OPCODE", opcode}}))));
    EXPECT_EQ(module.computations.size(), 2);
    EXPECT_EQ(Get(module, "start").opcode_text, "async-start");
    EXPECT_EQ(Get(module, "start").Called(CallRole::kCalls), 0);
    EXPECT_EQ(Get(module, "done").opcode, Opcode::kAsyncDone);
  }
}

// The attributes of a collective with these fields, as printed.
std::string Collective(absl::string_view fields) {
  xla::HloModuleProto module = Proto(kSum);
  xla::HloInstructionProto& instruction = *module.mutable_computations(0)->mutable_instructions(2);
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      absl::StrCat("opcode: \"all-reduce\" channel_id: 3 ", fields), &instruction));
  const std::string text = MustPrint(module);
  const std::string start = "all-reduce(%a, %b), ";
  const size_t begin = text.find(start) + start.size();
  // The parser reads the groups as they are printed.
  const Module parsed = MustParse(text);
  EXPECT_EQ(Get(parsed, "c").FindAttribute("channel_id"), "3");
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(PrintModule, WritesTheGroupsOfCollectivesInTheirForm) {
  EXPECT_EQ(Collective(R"pb(collective_device_list {
                              replica_groups { replica_ids: [ 0, 1 ] }
                              replica_groups { replica_ids: [ 2, 3 ] }
                            })pb"),
            "channel_id=3, replica_groups={{0,1},{2,3}}");
  EXPECT_EQ(Collective("replica_groups { replica_ids: [ 0, 1 ] }"),
            "channel_id=3, replica_groups={{0,1}}");
  EXPECT_EQ(Collective(R"pb(iota_collective_device_list {
                              num_replica_groups: 2
                              num_devices_per_group: 4
                              iota_reshape_dims: [ 4, 2 ]
                              iota_transpose_perm: [ 1, 0 ]
                            })pb"),
            "channel_id=3, replica_groups=[2,4]<=[4,2]T(1,0)");
  EXPECT_EQ(Collective(R"pb(mesh_axes_replica_group_list {
                              mesh {
                                axes { name: "x" size: 2 }
                                axes { name: "y" size: 4 }
                              }
                              axes { mesh_axis_index: 1 }
                            })pb"),
            "channel_id=3, replica_groups=mesh['x'=2,'y'=4] {'y'}");
  EXPECT_EQ(Collective(R"pb(mesh_axes_replica_group_list {
                              mesh {
                                axes { name: "x" size: 4 }
                                device_ids: [ 0, 2, 1, 3 ]
                              }
                              axes { sub_axis_info { pre_size: 2 size: 2 } }
                            })pb"),
            "channel_id=3, replica_groups=mesh['x'=4], device_ids=(0,2,1,3) {'x':(2)2}");
  EXPECT_EQ(Collective("source_target_pairs { source: 0 target: 1 } "
                       "source_target_pairs { source: 1 target: 0 }"),
            "channel_id=3, source_target_pairs={{0,1},{1,0}}");
}

// Names and indices come from outside.
TEST(PrintModule, OddGroupsCanStillBeRead) {
  EXPECT_EQ(Collective(R"pb(mesh_axes_replica_group_list {
                              mesh { axes { name: "a,b]} {'" size: 2 } }
                              axes { mesh_axis_index: 0 }
                              axes { mesh_axis_index: 7 }
                              axes { mesh_axis_index: -1 }
                            })pb"),
            "channel_id=3, replica_groups=mesh['ab'=2] {'ab'}");
}

// A name of 4 MB that occurs a million times in a message of 8 MB would make a text of 4 TB.
TEST(PrintModule, RefusesLongAndManyAxesOfAMesh) {
  const auto error = [](size_t name_bytes, int axes) {
    xla::HloModuleProto module = Proto(kSum);
    xla::HloInstructionProto& sum = *module.mutable_computations(0)->mutable_instructions(2);
    sum.set_opcode("all-reduce");
    auto& list = *sum.mutable_mesh_axes_replica_group_list();
    list.mutable_mesh()->add_axes()->set_name(std::string(name_bytes, 'x'));
    for (int i = 0; i < axes; ++i) list.add_axes();
    const absl::StatusOr<std::string> text = PrintModule(module);
    return std::string(text.status().message());
  };
  EXPECT_EQ(error(4096, 64), "");
  EXPECT_EQ(error(4097, 1),
            "%main: %c: mesh_axes_replica_group_list.mesh.axes.name: expected at most 4096 bytes, "
            "found 4097");
  EXPECT_EQ(error(1, 65),
            "%main: %c: mesh_axes_replica_group_list.axes: expected at most 64, found 65");
}

TEST(PrintModule, QuotesABackendConfigThatIsNoJson) {
  xla::HloModuleProto module = Proto(kSum);
  auto& instruction = *module.mutable_computations(0)->mutable_instructions(2);
  instruction.set_backend_config("{\"estimated_cycles\":\"5\"}");
  EXPECT_EQ(Get(MustParse(MustPrint(module)), "c").estimated_cycles, 5);
  for (const absl::string_view config : {"{", "}, calls=%x", "a\nb", "\"", "{\"n\":\n1}"}) {
    instruction.set_backend_config(std::string(config));
    EXPECT_EQ(Get(MustParse(MustPrint(module)), "c").estimated_cycles, absl::nullopt);
  }
}

TEST(PrintModule, SaysWhichInstructionIsWrong) {
  EXPECT_EQ(ErrorWith("operand_ids: [ 10, 11 ]", "operand_ids: [ 10, 7 ]"),
            "%main: %c: operand_ids: expected the id of an instruction that comes before this "
            "one, found 7");
  EXPECT_EQ(ErrorWith("operand_ids: [ 10, 11 ]", "control_predecessor_ids: 12"),
            "%main: %c: control_predecessor_ids: expected the id of an instruction that comes "
            "before this one, found 12");
  EXPECT_EQ(ErrorWith("operand_ids: [ 10, 11 ]", "called_computation_ids: 1"),
            "%main: %c: called_computation_ids: expected the id of a computation that comes "
            "before this one, found 1");
  EXPECT_EQ(ErrorWith("shape { element_type: 4 }\n      literal",
                      "shape { element_type: 99 }\n      literal"),
            "%main: %b: shape.element_type: expected the number of an xla.PrimitiveType, found 99");
  EXPECT_EQ(ErrorWith("opcode: \"add\"", "opcode: \"a b\""),
            "%main: %c: opcode: expected a name of letters, digits and '-'");
}

TEST(PrintModule, SaysWhatIsWrongWithAComputation) {
  EXPECT_EQ(ErrorWith("root_id: 12", "root_id: 13"),
            "%main: root_id: expected the id of an instruction, found 13");
  EXPECT_EQ(ErrorWith("id: 11\n", "id: 10\n"),
            "%main: instructions.id: expected a number that is not taken yet, found 10");
  EXPECT_EQ(
      ErrorWith("name: \"b\"", "name: \"b c\""),
      "%main: instructions[1].name: expected letters, digits, '_', '.' and '-', at most 4096");
  EXPECT_EQ(ErrorWith("name: \"main\"", "name: \"\""),
            "computations[0].name: expected letters, digits, '_', '.' and '-', at most 4096");
  EXPECT_EQ(ErrorWith("entry_computation_id: 1", "entry_computation_id: 5"),
            "entry_computation_id: expected the id of a computation, found 5");
  EXPECT_EQ(ErrorWith("[ 11, 10, 12 ]", "[ 11, 11, 12 ]"),
            "%main: schedule: expected each instruction of the computation once, found 11");
  EXPECT_EQ(ErrorWith("[ 11, 10, 12 ]", "[ 11, 10 ]"),
            "%main: schedule: expected 3 instructions, found 2");
}

// A name of 4096 bytes, which occurs 1024 times in an operand list: the text would have 4 MiB.
TEST(PrintModule, RefusesTextBeyondItsBound) {
  xla::HloModuleProto module = Proto(kSum);
  auto& computation = *module.mutable_computations(0);
  computation.mutable_instructions(0)->set_name(std::string(4096, 'a'));
  auto& operands = *computation.mutable_instructions(2)->mutable_operand_ids();
  operands.Clear();
  operands.Resize(1024, 10);
  EXPECT_TRUE(PrintModule(module, 1 << 23).ok());
  EXPECT_THAT(std::string(PrintModule(module, 1 << 16).status().message()),
              HasSubstr("%c: text: expected at most 65536 bytes, found"));
}

}  // namespace
}  // namespace mallocmuzero::hlo
