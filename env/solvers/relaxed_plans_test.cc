#include "env/solvers/relaxed_plans.h"

#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/testing/index_matching.h"
#include "env/program_rules.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
#include "env/testing/games.h"
#include "env/testing/tiny_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using ::testing::SizeIs;
using testing::Update;
using testing::Write;

IndexVector<AccessIndex, double> Shares(std::vector<double> shares) {
  IndexVector<AccessIndex, double> by_access;
  for (const double share : shares) by_access.push_back(share);
  return by_access;
}

// A value that is made, read twice and changed, and read again.
Program ValueOfFiveAccesses() {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(100);
  builder.AddInstruction(50, {Write(value, 5)});
  builder.AddInstruction(50, {Read(value, 5)});
  builder.AddInstruction(50, {Read(value, 5)});
  builder.AddInstruction(50, {Update(value, 5)});
  builder.AddInstruction(50, {Read(value, 5)});
  return builder.Build();
}

Plan PlanOf(const Program& program, const RelaxedPlacement& placement, double share) {
  const ProgramRules rules = EverythingMatters(program);
  return RelaxedPlan(placement, share, ProgramFacts(rules));
}

TEST(RelaxedPlan, AValueThatStaysUntilItsEndIsNotCopied) {
  EXPECT_THAT(
      PlanOf(ValueOfFiveAccesses(),
             {.in_fast_memory = Shares({1, 1, 1, 1, 1}), .stays = Shares({0, 1, 1, 1, 1})}, 1),
      ElementsAre(kNoCopy, kNoCopy, kNoCopy, kNoCopy, kNoCopy));
}

TEST(RelaxedPlan, AValueThatLeavesIsCopiedToHbmWhenItIsMadeAndChanged) {
  EXPECT_THAT(
      PlanOf(ValueOfFiveAccesses(),
             {.in_fast_memory = Shares({1, 1, 1, 1, 0}), .stays = Shares({0, 1, 0, 1, 0})}, 1),
      ElementsAre(kCopy, kNoCopy, kCopy, kCopy, kDrop));
}

TEST(RelaxedPlan, SharesDecide) {
  const RelaxedPlacement placement = {.in_fast_memory = Shares({0.2, 0.6, 0.6, 0.4, 0.9}),
                                      .stays = Shares({0, 0.1, 0.3, 0.4, 0.5})};
  EXPECT_THAT(PlanOf(ValueOfFiveAccesses(), placement, 0.5),
              ElementsAre(kDrop, kCopy, kNoCopy, kDrop, kNoCopy));
}

TEST(RelaxedSolver, FindsTheOptimumOfMostTinyPrograms) {
  std::mt19937_64 random(7);
  constexpr int kPrograms = 100;
  int found = 0;
  for (int k = 0; k < kPrograms; ++k) {
    const Program program = testing::TinyProgram(random, 8);
    const ProgramRules rules = ProgramRules::Create(program);
    const SolveOptions options;
    SearchBudget budget(options);
    BudgetMeter meter(budget);
    const absl::StatusOr<std::vector<PlayedPlan>> plans =
        RelaxedSolver().Propose(ProgramFacts(rules), 0, meter);
    ASSERT_TRUE(plans.ok()) << plans.status();
    ASSERT_THAT(*plans, SizeIs(4));
    for (const PlayedPlan& plan : *plans) EXPECT_EQ(plan.cycles, Played(rules, plan.plan).cycles);
    const double optimum = Solve(solver_name::kExhaustive, rules, {})->cycles;
    if (BestOf(*plans).cycles <= optimum * (1 + 1e-9)) ++found;
  }
  EXPECT_GE(found, kPrograms / 2);
}

TEST(RelaxedSolver, ProposesNothingWithoutTime) {
  const Program program = ValueOfFiveAccesses();
  const ProgramRules rules = EverythingMatters(program);
  SolveOptions options;
  options.deadline = absl::InfinitePast();
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  EXPECT_THAT(*RelaxedSolver().Propose(ProgramFacts(rules), 0, meter), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
