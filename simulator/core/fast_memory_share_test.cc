#include "simulator/core/fast_memory_share.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "base/message_file.h"
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

// A program with two buffers, two instructions and a default mapping.
Program TwoBuffers() {
  ProgramBuilder builder;
  builder.AddBuffer(64, {.live_in = true});
  builder.AddBuffer(64, {.live_out = true});
  builder.AddInstruction(10, {Read(0, 4), Write(1, 2)});
  builder.AddInstruction(10);
  return builder.Build();
}

TEST(WithFastMemoryShare, ChangesTheSizeAndTheNameOfTheChipAndNothingElse) {
  const Program program = TwoBuffers();
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
  const absl::StatusOr<Program> variant = WithFastMemoryShare(TwoBuffers(), 0.7);  // 716.8 bytes
  ASSERT_TRUE(variant.ok()) << variant.status();
  EXPECT_EQ(variant->hardware().fast_memory_bytes(), 704);
}

TEST(WithFastMemoryShare, HasNoBaseline) {
  v1::Program proto = TwoBuffers().proto();
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
  const Program program = TwoBuffers();
  const absl::StatusOr<Program> same = WithFastMemoryShare(program, 1);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->proto().fingerprint(), program.proto().fingerprint());
}

TEST(WithFastMemoryShare, AProgramOfAnOlderVersionCanBeWrittenAndReadAgain) {
  v1::Program proto = TwoBuffers().proto();
  proto.mutable_header()->set_version(1);
  proto.set_fingerprint(ProgramFingerprint(proto));
  const absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<Program> same = WithFastMemoryShare(*program, 1);
  ASSERT_TRUE(same.ok()) << same.status();
  v1::Program written = same->proto();
  FillHeader(written);  // as every write does
  EXPECT_TRUE(Program::FromProto(std::move(written)).ok());
}

TEST(WithFastMemoryShare, RefusesWhatIsNoShare) {
  const Program program = TwoBuffers();
  for (const double share : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(WithFastMemoryShare(program, share).status().message(),
                HasSubstr("a positive share expected"))
        << share;
  }
  EXPECT_THAT(WithFastMemoryShare(program, 1e20).status().message(),
              HasSubstr("at most 2^53 bytes"));
  EXPECT_THAT(WithFastMemoryShare(program, 0.01).status().message(),
              HasSubstr("less than the alignment of 16 bytes"));
}

}  // namespace
}  // namespace mallocmuzero
