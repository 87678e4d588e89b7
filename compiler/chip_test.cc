#include "compiler/chip.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

TEST(CompilerChip, KnowsEveryBuiltInChip) {
  for (const std::string& name : BuiltInHardwareNames()) {
    EXPECT_TRUE(FindCompilerChip(name).ok()) << name;
  }
}

TEST(CompilerChip, NamesTopologyAndAssignmentOption) {
  const absl::StatusOr<CompilerChip> v4i = FindCompilerChip("tpu_v4i");
  ASSERT_TRUE(v4i.ok());
  EXPECT_STREQ(v4i->topology, "v4 lite:1x1");
  EXPECT_STREQ(v4i->assignment_option, "xla_tpu_cmem_memory_space_assignment");
  const absl::StatusOr<CompilerChip> v6e = FindCompilerChip("tpu_v6e");
  ASSERT_TRUE(v6e.ok());
  EXPECT_STREQ(v6e->topology, "v6e:1x1");
  EXPECT_STREQ(v6e->assignment_option, "xla_gf_vmem_memory_space_assignment");
}

TEST(CompilerChip, SaysWhichChipsThereAre) {
  const absl::Status status = FindCompilerChip("tpu_v9").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("tpu_v4i, tpu_v5e, tpu_v5p, tpu_v6e, tpu7x"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("tpu_v9"));
}

}  // namespace
}  // namespace mallocmuzero
