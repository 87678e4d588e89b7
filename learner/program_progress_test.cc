#include "learner/program_progress.h"

#include <filesystem>
#include <optional>
#include <string>

#include "base/file_io.h"
#include "base/message_file.h"
#include "env/game.h"
#include "env/players.h"
#include "env/testing/random_program_set.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

class BestMapping : public ::testing::Test {
 protected:
  BestMapping() {
    const std::string folder = ::testing::TempDir() + "/best_mapping_test";
    std::filesystem::remove_all(folder);
    directory_ = *RunDirectory::Create(folder, {});
  }

  // The progress of a run whose best game is one of this player.
  ProgramProgress After(PlayerKind kind) const {
    Player player(kind, 1);
    player.StartGame();
    Game game(programs_[0].rules());
    ProgramProgress progress = {.program = &programs_[0]};
    while (!game.finished()) {
      progress.best_actions.push_back(player.Choose(game));
      game.Apply(progress.best_actions.back());
    }
    progress.best_return = HbmShare(1 - programs_[0].rules().ShareOfAllHbm(game.cycles()));
    return progress;
  }

  std::string Path() const {
    return directory_->BestPath(programs_[0].program().hardware().name(), programs_[0].name());
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 1);
  absl::StatusOr<RunDirectory> directory_ = absl::UnknownError("");
};

TEST_F(BestMapping, StaysWhereItIsBetterThanWhatARunHasFoundSinceAnEarlierCheckpoint) {
  const ProgramProgress good = After(PlayerKind::kEager);
  const ProgramProgress bad = After(PlayerKind::kRandom);
  ASSERT_GT(good.best_return, bad.best_return + HbmShare(1e-6));
  ASSERT_TRUE(WriteBestMapping(*directory_, bad).ok());
  const std::string of_bad = *ReadFile(Path());
  ASSERT_TRUE(WriteBestMapping(*directory_, good).ok());
  const std::string of_good = *ReadFile(Path());
  EXPECT_NE(of_good, of_bad);
  ASSERT_TRUE(WriteBestMapping(*directory_, bad).ok());
  EXPECT_EQ(*ReadFile(Path()), of_good);
}

TEST_F(BestMapping, IsNotDescribedBeforeTheFirstGame) {
  ProgramProgress progress = {.program = &programs_[0]};
  EXPECT_FALSE(DescribeProgress(progress, std::nullopt, HbmShare(1)).has_best_return());
  EXPECT_TRUE(
      DescribeProgress(After(PlayerKind::kEager), std::nullopt, HbmShare(1)).has_best_return());
}

TEST_F(BestMapping, TakesThePlaceOfAFasterOneThatCannotRun) {
  const ProgramProgress progress = After(PlayerKind::kEager);
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  const std::string written = *ReadFile(Path());
  // All accesses are in fast memory, but no interval is.
  const Program& program = programs_[0].program();
  Mapping impossible = AllHbmMapping(program);
  for (uint8_t& is_fast : impossible.in_fast_memory) is_fast = 1;
  ASSERT_LT(AllFastCycles(program), SimulateAllHbm(program).total_cycles);
  ASSERT_TRUE(WriteMessage(Path(), MappingToProto(impossible, program)).ok());
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  EXPECT_EQ(*ReadFile(Path()), written);
}

TEST_F(BestMapping, TakesThePlaceOfOneThatIsBetterByRoundingOnly) {
  ProgramProgress progress = After(PlayerKind::kEager);
  progress.best_player = "first";
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  const std::string of_first = *ReadFile(Path());
  progress.best_player = "second";
  progress.best_return = progress.best_return - HbmShare(1e-12);
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  EXPECT_NE(*ReadFile(Path()), of_first);
}

TEST_F(BestMapping, TakesThePlaceOfADamagedFile) {
  const ProgramProgress progress = After(PlayerKind::kEager);
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  const std::string whole = *ReadFile(Path());
  std::filesystem::resize_file(Path(), whole.size() / 2);
  ASSERT_TRUE(WriteBestMapping(*directory_, progress).ok());
  EXPECT_EQ(*ReadFile(Path()), whole);
}

}  // namespace
}  // namespace mallocmuzero
