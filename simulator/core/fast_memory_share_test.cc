#include "simulator/core/fast_memory_share.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// A program with two buffers and a default mapping; its second instruction needs 300 bytes of fast
// memory for itself.
Program ScopedProgram() {
  ProgramBuilder builder;
  builder.hardware().set_scoped_memory_in_fast_memory(true);
  builder.AddBuffer(64, {.live_in = true});
  builder.AddBuffer(64, {.live_out = true});
  builder.AddInstruction(10, {Read(0, 4), Write(1, 2)});
  builder.AddInstruction(10);
  builder.SetScopedFastMemoryBytes(1, 300);
  return builder.Build();
}

TEST(WithFastMemoryShare, ChangesTheSizeAndTheNameOfTheChipAndNothingElse) {
  const Program program = ScopedProgram();
  const absl::StatusOr<Program> half = WithFastMemoryShare(program, 0.5);
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_EQ(half->hardware().fast_memory_bytes(), 512);
  EXPECT_EQ(half->hardware().name(), program.hardware().name() + "_50pct");
  EXPECT_NE(half->proto().fingerprint(), program.proto().fingerprint());
  v1::Program back = half->proto();
  *back.mutable_hardware() = program.hardware();
  back.set_fingerprint(program.proto().fingerprint());
  EXPECT_EQ(back.SerializeAsString(), program.proto().SerializeAsString());
}

TEST(WithFastMemoryShare, RoundsDownToTheAlignment) {
  const absl::StatusOr<Program> variant = WithFastMemoryShare(ScopedProgram(), 0.7);  // 716.8 bytes
  ASSERT_TRUE(variant.ok()) << variant.status();
  EXPECT_EQ(variant->hardware().fast_memory_bytes(), 704);
}

TEST(WithFastMemoryShare, HasNoBaseline) {
  v1::Program proto = ScopedProgram().proto();
  proto.mutable_baseline()->set_total_cycles(20);
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<Program> twice = WithFastMemoryShare(*program, 2);
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_FALSE(twice->proto().has_baseline());
  EXPECT_EQ(twice->hardware().fast_memory_bytes(), 2048);
}

TEST(WithFastMemoryShare, IsTheSameProgramAtShareOne) {
  const Program program = ScopedProgram();
  const absl::StatusOr<Program> same = WithFastMemoryShare(program, 1);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->proto().fingerprint(), program.proto().fingerprint());
}

TEST(WithFastMemoryShare, RefusesWhatIsNoShare) {
  const Program program = ScopedProgram();
  for (const double share : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(WithFastMemoryShare(program, share).status().message(),
                HasSubstr("a positive share expected"))
        << share;
  }
  EXPECT_THAT(WithFastMemoryShare(program, 0.01).status().message(),
              HasSubstr("less than the alignment of 16 bytes"));
}

TEST(WithFastMemoryShare, RefusesLessThanAnInstructionNeedsForItself) {
  const absl::Status status = WithFastMemoryShare(ScopedProgram(), 0.25).status();
  EXPECT_THAT(status.message(), HasSubstr("fast memory times 0.25"));
  EXPECT_THAT(status.message(), HasSubstr("scoped_fast_memory_bytes"));
}

}  // namespace
}  // namespace mallocmuzero
