#include "env/savings_bound.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;

// An instruction of 100 cycles in each of three passes. It reads three buffers, which save nothing
// unless the observed sets of them say so.
class ThreeReads {
 public:
  ThreeReads() {
    std::vector<testing::AccessSpec> reads;
    for (int b = 0; b < 3; ++b) reads.push_back(Read(builder_.AddBuffer(16, {.live_in = true})));
    builder_.BeginLoop(3);
    instruction_ = builder_.AddInstruction(100, reads);
    builder_.EndLoop();
  }

  ThreeReads& Observe(uint64_t fast_mask, double cycles) {
    builder_.AddObserved(instruction_, fast_mask, cycles);
    return *this;
  }

  Program Build() const { return builder_.Build(); }

  // With a default that has these accesses in fast memory.
  Program BuildWithDefault(const std::vector<bool>& in_fast_memory) const {
    v1::Program proto = builder_.BuildProto();
    v1::Mapping& mapping = *proto.mutable_baseline()->mutable_mapping();
    for (const bool fast : in_fast_memory) mapping.add_in_fast_memory(fast);
    SealProgram(proto);
    return *Program::FromProto(std::move(proto));
  }

 private:
  ProgramBuilder builder_;
  InstructionIndex instruction_;
};

TEST(SavingsBounds, CountTheSavingOfAnAccessByItself) {
  ThreeReads program;
  // The third one has nothing left to save once the others are in fast memory.
  program.Observe(0b100, 90).Observe(0b111, 100);
  EXPECT_THAT(SavingsBounds(program.Build()), ElementsAre(0, 0, 3 * 10));
}

TEST(SavingsBounds, CountTheSavingOfAnAccessWithAllOthers) {
  ThreeReads program;
  program.Observe(0b111, 60);
  EXPECT_THAT(SavingsBounds(program.Build()), ElementsAre(3 * 40, 3 * 40, 3 * 40));
}

TEST(SavingsBounds, CountTheSavingOfAnAccessBesideThoseOfTheDefault) {
  ThreeReads program;
  program.Observe(0b011, 60);
  EXPECT_THAT(SavingsBounds(program.Build()), ElementsAre(0, 0, 0));
  EXPECT_THAT(SavingsBounds(program.BuildWithDefault({true, true, false})),
              ElementsAre(3 * 40, 3 * 40, 0));
}

TEST(SavingsBounds, AddUpTheAccessesOfABufferAndNoLosses) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(16, {.live_in = true});
  builder.AddInstruction(100, {Read(buffer, 7)});
  builder.AddInstruction(100, {Read(buffer, -50)});
  builder.AddInstruction(100, {Read(buffer, 5)});
  EXPECT_THAT(SavingsBounds(builder.Build()), ElementsAre(7 + 5));
}

}  // namespace
}  // namespace mallocmuzero
