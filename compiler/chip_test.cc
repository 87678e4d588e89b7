#include "compiler/chip.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

TEST(CompilerChip, KnowsEveryBuiltInChip) {
  const std::vector<std::string> names = BuiltInHardwareNames();
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
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

TEST(CompilerChip, TakesEveryNameOfItsOwnTopologies) {
  const CompilerChip v6e = FindCompilerChip("tpu_v6e").value();
  for (const char* topology : {"v6e:2x4", "v6 lite:2x2", "v6e=2x2", "v6e_2x2", "TPU v6e:2x2"}) {
    EXPECT_TRUE(CheckTopologyIsOf(v6e, topology).ok()) << topology;
  }
  for (const std::string& name : BuiltInHardwareNames()) {
    const CompilerChip chip = FindCompilerChip(name).value();
    EXPECT_TRUE(CheckTopologyIsOf(chip, chip.topology).ok()) << name;
  }
}

TEST(CompilerChip, RefusesATopologyOfAnotherChip) {
  const CompilerChip v6e = FindCompilerChip("tpu_v6e").value();
  const absl::Status status = CheckTopologyIsOf(v6e, "v5e:2x2");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "topology: 'v5e:2x2' is of tpu_v5e, not of tpu_v6e: one such as 'v6e:1x1' expected");
  const CompilerChip v4 = FindCompilerChip("tpu_v4").value();
  EXPECT_FALSE(CheckTopologyIsOf(v4, "v4 lite:1x1").ok());
  EXPECT_FALSE(CheckTopologyIsOf(v4, "tpu7x:1x1x1").ok());
}

TEST(CompilerChip, LeavesUnknownTopologiesToTheCompiler) {
  const CompilerChip v6e = FindCompilerChip("tpu_v6e").value();
  EXPECT_TRUE(CheckTopologyIsOf(v6e, "v9:2x2").ok());
  EXPECT_TRUE(CheckTopologyIsOf(v6e, "nonsense").ok());
  EXPECT_TRUE(CheckTopologyIsOf(v6e, "").ok());
}

}  // namespace
}  // namespace mallocmuzero
