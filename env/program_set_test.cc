#include "env/program_set.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/players.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Program Named(const std::string& name, uint64_t seed) {
  std::mt19937_64 random(seed);
  v1::Program proto = testing::RandomGameProgram(random).proto();
  proto.set_name(name);
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

// Its one buffer may only be in HBM.
Program WithoutDecisions(const std::string& name) {
  testing::ProgramBuilder builder;
  const BufferIndex pinned = builder.AddBuffer(64, {.live_in = true, .pinned_to_hbm = true});
  builder.AddInstruction(40, {testing::Read(pinned, 8)});
  v1::Program proto = builder.Build().proto();
  proto.set_name(name);
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

std::vector<Program> Programs(Program a, Program b) {
  std::vector<Program> programs;
  programs.push_back(std::move(a));
  programs.push_back(std::move(b));
  return programs;
}

TEST(ProgramSet, FindsProgramsByFingerprint) {
  const auto set = ProgramSet::Create(Programs(Named("a", 1), Named("b", 2)));
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ((*set)[0].name(), "a");
  EXPECT_EQ(set->Find((*set)[1].sha256()), &(*set)[1]);
  EXPECT_EQ(set->IndexOf((*set)[1].sha256()), 1);
  EXPECT_EQ(set->Find("other"), nullptr);
}

TEST(ProgramSet, KnowsHowLongGamesAre) {
  const auto set = ProgramSet::Create(Programs(Named("a", 1), Named("b", 2)));
  const PlayedProgram& program = (*set)[0];
  Game game(program.rules());
  while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
  EXPECT_EQ(program.decisions(), game.history().size());
}

TEST(ProgramSet, LeavesOutProgramsWithNothingToDecide) {
  const auto set = ProgramSet::Create(Programs(WithoutDecisions("idle"), Named("b", 2)));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->size(), 1);
  EXPECT_THAT(set->idle(), ElementsAre("idle"));
  EXPECT_THAT(
      ProgramSet::Create(Programs(WithoutDecisions("a"), WithoutDecisions("b"))).status().message(),
      HasSubstr("anything to decide"));
}

TEST(ProgramSet, RefusesTheSameProgramTwice) {
  EXPECT_THAT(ProgramSet::Create(Programs(Named("a", 1), Named("a", 1))).status().message(),
              HasSubstr("there twice"));
}

TEST(ProgramSet, RefusesTwoProgramsOfOneName) {
  EXPECT_THAT(ProgramSet::Create(Programs(Named("a", 1), Named("a", 2))).status().message(),
              HasSubstr("a: two different programs"));
}

}  // namespace
}  // namespace mallocmuzero
