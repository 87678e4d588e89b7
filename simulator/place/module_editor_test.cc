#include "simulator/place/module_editor.h"

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"

namespace mallocmuzero::place {
namespace {

// The bits of an instruction's id that XLA keeps.
uint32_t InComputation(int64_t id) { return id; }

// Entry computation 1 has two instructions, and computation 9, which fusions call, has one.
ModuleEditor EditorOfTwoComputations() {
  xla::HloModuleProto module;
  xla::HloComputationProto& fused = *module.add_computations();
  fused.set_id(9);
  fused.set_name("fused");
  xla::HloInstructionProto& parameter = *fused.add_instructions();
  parameter.set_name("p");
  parameter.set_id((int64_t{9} << 32) | 0);
  fused.set_root_id(parameter.id());
  xla::HloComputationProto& entry = *module.add_computations();
  entry.set_id(1);
  entry.set_name("entry");
  for (const int64_t number : {0, 1}) {
    xla::HloInstructionProto& instruction = *entry.add_instructions();
    instruction.set_name(number == 0 ? "x" : "y");
    instruction.set_id((int64_t{1} << 32) | number);
  }
  entry.mutable_instructions(1)->add_called_computation_ids(9);
  entry.set_root_id(entry.instructions(1).id());
  module.set_entry_computation_id(1);
  return ModuleEditor(module);
}

TEST(ModuleEditor, NewIdsDifferFromAllOthersInTheBitsThatXlaKeeps) {
  ModuleEditor editor = EditorOfTwoComputations();
  absl::flat_hash_set<uint32_t> taken = {0, 1};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(taken.insert(InComputation(editor.NewId())).second);
}

TEST(ModuleEditor, ASecondFusionOfAComputationGetsACopyWithIdsOfItsOwn) {
  ModuleEditor editor = EditorOfTwoComputations();
  xla::HloInstructionProto first = editor.FindComputation("entry")->instructions(1);
  xla::HloInstructionProto second = first;
  ASSERT_TRUE(editor.OwnFusedComputation(first).ok());
  ASSERT_TRUE(editor.OwnFusedComputation(second).ok());
  EXPECT_EQ(first.called_computation_ids(0), 9);
  ASSERT_NE(second.called_computation_ids(0), 9);
  const xla::HloComputationProto* copy = editor.FindComputation(second.called_computation_ids(0));
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->root_id(), copy->instructions(0).id());
  EXPECT_NE(InComputation(copy->root_id()), InComputation(editor.NewId()));
  EXPECT_GT(InComputation(copy->root_id()), 1);
}

}  // namespace
}  // namespace mallocmuzero::place
