#include "simulator/core/index_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/indices.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

TEST(IndexFields, FindTheMessageOfAnIndex) {
  v1::Program program;
  program.add_instructions()->set_name("first");
  program.add_instructions()->set_name("second");
  EXPECT_EQ(ElementOf(program.instructions(), InstructionIndex(1)).name(), "second");
}

TEST(IndexFields, TakeIndicesInOrder) {
  google::protobuf::RepeatedField<uint32_t> field;
  Append(field, BufferIndex(7));
  Append(field, BufferIndex(0));
  EXPECT_THAT(field, ElementsAre(7, 0));
}

}  // namespace
}  // namespace mallocmuzero
