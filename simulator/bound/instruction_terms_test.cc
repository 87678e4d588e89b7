#include "simulator/bound/instruction_terms.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::bound {
namespace {

using testing::AccessSpec;
using testing::ProgramBuilder;
using testing::Read;

// One instruction of 1000 cycles that reads `count` small inputs with random savings, some
// negative, within bounds that cut some sets off.
Program RandomInstruction(uint32_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> saving(-5, 40);
  ProgramBuilder builder;
  std::vector<AccessSpec> accesses;
  for (uint32_t k = 0; k < count; ++k) {
    accesses.push_back(Read(builder.AddBuffer(16, {.live_in = true}), saving(random)));
  }
  const InstructionIndex instruction = builder.AddInstruction(1000, accesses);
  builder.SetBounds(instruction, 850, 1010);
  builder.AddObserved(instruction, 0b101, 830);
  return builder.Build();
}

IndexSpan<AccessIndex, double> Writable(IndexVector<AccessIndex, double>& chosen) {
  return IndexSpan<AccessIndex, double>(chosen);
}

double BestOfAllSets(const Program& program, double idle_price,
                     const IndexVector<AccessIndex, double>& prices) {
  double best = 0;
  for (uint64_t set = 0; set < uint64_t{1} << program.access_count(); ++set) {
    const double cycles = program.latency().Cycles(0, set);
    double worth =
        program.latency().Cycles(0, 0) - cycles + idle_price * IdleBytes(program, 0, set, cycles);
    for (const AccessIndex k : prices.indices())
      worth -= (set >> k.number() & 1) != 0 ? prices[k] : 0;
    best = std::max(best, worth);
  }
  return best;
}

const IndexVector<InstructionIndex, double> kOnce = {1};

TEST(InstructionTerms, FindTheBestSetOfFewAccesses) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> price(-10, 40);
  for (int k = 0; k < 50; ++k) {
    const Program program = RandomInstruction(8, random);
    const InstructionTerms terms(program, kOnce);
    IndexVector<AccessIndex, double> prices(8);
    for (double& p : prices) p = price(random);
    IndexVector<AccessIndex, double> chosen(8, 0);
    EXPECT_NEAR(terms.Best(0, 0.01, prices, Writable(chosen)).worth,
                BestOfAllSets(program, 0.01, prices), 1e-9);
  }
}

TEST(InstructionTerms, BoundTheBestSetOfManyAccesses) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> price(-10, 40);
  for (int k = 0; k < 50; ++k) {
    const Program program = RandomInstruction(14, random);
    const InstructionTerms terms(program, kOnce);
    IndexVector<AccessIndex, double> prices(14);
    for (double& p : prices) p = price(random);
    IndexVector<AccessIndex, double> chosen(14, 0);
    EXPECT_GE(terms.Best(0, 0.01, prices, Writable(chosen)).worth,
              BestOfAllSets(program, 0.01, prices) - 1e-9);
  }
}

// Two accesses may save the 20 cycles down to the floor: the first one for 1 cycle and the fourth
// one for 2, which leaves 17. Accesses that neither save nor cost anything stand between them.
TEST(InstructionTerms, BoundTheBestSetBesideAccessesThatSaveNothing) {
  ProgramBuilder builder;
  std::vector<AccessSpec> accesses;
  for (const double saving : {10, 10, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) {
    accesses.push_back(Read(builder.AddBuffer(16, {.live_in = true}), saving));
  }
  builder.SetBounds(builder.AddInstruction(1000, accesses), 980, 1000);
  const Program program = builder.Build();
  IndexVector<AccessIndex, double> prices(14, 0);
  prices[0] = 1;
  prices[1] = 9;
  prices[3] = 2;
  IndexVector<AccessIndex, double> chosen(14, 0);
  EXPECT_EQ(BestOfAllSets(program, 0, prices), 17);
  const InstructionTerms terms(program, kOnce);
  EXPECT_EQ(terms.Best(0, 0, prices, Writable(chosen)).worth, 17);
  IndexVector<AccessIndex, double> expected(14, 0);
  expected[0] = expected[3] = 1;
  EXPECT_EQ(chosen, expected);
}

// Two inputs of 600 bytes do not fit into 1024 together, and the second saves more.
TEST(InstructionTerms, ChooseOnlySetsThatFit) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(600, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(600, {.live_in = true});
  builder.AddInstruction(100, {Read(a, 20), Read(b, 30)});
  const Program program = builder.Build();
  IndexVector<AccessIndex, double> chosen(2, 0);
  const InstructionTerms terms(program, kOnce);
  EXPECT_EQ(terms.Best(0, 0, IndexVector<AccessIndex, double>{0, 0}, Writable(chosen)).worth, 30);
  EXPECT_EQ(chosen, (IndexVector<AccessIndex, double>{0, 1}));
  EXPECT_EQ(terms.most_saved(), 50);
}

// The four sets of the first instruction are all that may be listed. The bound of the second one,
// which is the same, does not know that both inputs together do not fit: 20 + 30.
TEST(InstructionTerms, ListOnlyAsManySetsAsTheyMay) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(600, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(600, {.live_in = true});
  for (int i = 0; i < 2; ++i) builder.AddInstruction(100, {Read(a, 20), Read(b, 30)});
  const Program program = builder.Build();
  const IndexVector<InstructionIndex, double> executions = {1, 1};
  const InstructionTerms terms(program, executions, /*most_sets=*/4);
  const IndexVector<AccessIndex, double> prices(4, 0);
  IndexVector<AccessIndex, double> chosen(4, 0);
  EXPECT_EQ(terms.Best(0, 0, prices, Writable(chosen)).worth, 30);
  EXPECT_EQ(terms.Best(1, 0, prices, Writable(chosen)).worth, 50);
}

}  // namespace
}  // namespace mallocmuzero::bound
