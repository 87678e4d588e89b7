#include "cli/program_inputs.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::HasSubstr;

Program WithDefault(bool packed) {
  testing::ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10, {testing::Read(weights, 1)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_baseline()->set_packed(packed);
  proto.mutable_baseline()->set_total_cycles(10);
  proto.mutable_baseline()->mutable_mapping()->add_in_fast_memory(false);
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

TEST(HasAddresses, OnlyADefaultThatCouldNotBePackedHasNone) {
  for (const bool packed : {true, false}) {
    const Program program = WithDefault(packed);
    Mapping kept = program.baseline()->mapping;
    EXPECT_EQ(HasAddresses("default", kept, program), packed);
    kept.solver = "default";  // as `map` writes it
    EXPECT_EQ(HasAddresses("kept.mapping", kept, program), packed);
    EXPECT_EQ(CheckHasAddresses("kept.mapping", kept, "p.program", program, "placed").ok(), packed);
    kept.solver = "greedy";
    EXPECT_TRUE(HasAddresses("found.mapping", kept, program));
  }
}

TEST(CheckHasAddresses, SaysWhatCannotBeDone) {
  const Program program = WithDefault(/*packed=*/false);
  const absl::Status status =
      CheckHasAddresses("default", program.baseline()->mapping, "p.program", program, "validated");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("p.program: the default has no addresses"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("so it cannot be validated"));
}

}  // namespace
}  // namespace mallocmuzero::cli
