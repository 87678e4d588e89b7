#include "simulator/hlo/opcode.h"

#include "base/enums.h"
#include "gtest/gtest.h"

namespace mallocmuzero::hlo {
namespace {

TEST(Opcode, NamesAndEnumeratorsMatchBothWays) {
  for (int i = 0; i < Underlying(Opcode::kUnknown); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(OpcodeFromName(OpcodeName(opcode)), opcode) << OpcodeName(opcode);
  }
  EXPECT_EQ(OpcodeFromName("dynamic-update-slice"), Opcode::kDynamicUpdateSlice);
  EXPECT_EQ(OpcodeName(Opcode::kXor), "xor");
}

TEST(Opcode, UnknownNamesAreUnknown) {
  EXPECT_EQ(OpcodeFromName("unknown"), Opcode::kUnknown);
  EXPECT_EQ(OpcodeFromName(""), Opcode::kUnknown);
  EXPECT_EQ(OpcodeFromName("Add"), Opcode::kUnknown);
  EXPECT_EQ(OpcodeName(Opcode::kUnknown), "unknown");
}

}  // namespace
}  // namespace mallocmuzero::hlo
