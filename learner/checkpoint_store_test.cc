#include "learner/checkpoint_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/run_checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

class CheckpointStore : public ::testing::Test {
 protected:
  CheckpointStore() {
    folder_ = ::testing::TempDir() + "/checkpoint_store_test";
    fs::remove_all(folder_);
    directory_ = *RunDirectory::Create(folder_, {});
  }

  // Keeps a checkpoint of 100 bytes.
  absl::Status Keep(uint64_t step, double score, CheckpointBounds bounds = {100, 1 << 20}) const {
    v1::CheckpointManifest manifest;
    manifest.set_step(step);
    manifest.set_score(score);
    return KeepCheckpoint(*directory_, manifest, std::string(100, 'w'), bounds);
  }

  std::vector<uint64_t> Steps() const {
    std::vector<uint64_t> steps;
    for (const KeptCheckpoint& kept : ListCheckpoints(*directory_)) {
      steps.push_back(kept.manifest.step());
    }
    return steps;
  }

  std::string InCheckpoints(const std::string& name) const {
    return absl::StrCat(folder_, "/checkpoints/", name);
  }

  std::string folder_;
  absl::StatusOr<RunDirectory> directory_ = absl::UnknownError("");
};

TEST_F(CheckpointStore, KeepsACheckpointWithItsManifest) {
  ASSERT_TRUE(Keep(40, 0.25).ok());
  const std::vector<KeptCheckpoint> kept = ListCheckpoints(*directory_);
  ASSERT_EQ(kept.size(), 1);
  EXPECT_EQ(kept[0].path(), InCheckpoints("step-40/checkpoint"));
  EXPECT_EQ(*ReadFile(kept[0].path()), std::string(100, 'w'));
  EXPECT_EQ(kept[0].manifest.step(), 40);
  EXPECT_EQ(kept[0].manifest.score(), 0.25);
  EXPECT_EQ(kept[0].manifest.bytes(), 100);
  EXPECT_EQ(kept[0].manifest.sha256(), absl::BytesToHexString(Sha256(std::string(100, 'w'))));
  EXPECT_GT(kept[0].manifest.kept_at(), 0);
  EXPECT_EQ(kept[0].manifest.header().message(), "mallocmuzero.v1.CheckpointManifest");
}

TEST_F(CheckpointStore, ThinsThemOutEvenly) {
  for (const uint64_t step : {10, 20, 30, 40, 50, 60, 70, 80}) {
    // The scores rise, so the newest is the best.
    ASSERT_TRUE(Keep(step, static_cast<double>(step), {4, 1 << 20}).ok());
  }
  // At 50 the candidates have gaps of 20 (10: 0 to 20), 20, 20, 20: the first one goes. At 60: 20
  // has 30, 30 has 20 and goes. At 70: 20 has 40, 40 has 30, 50 has 20 and goes. At 80: 20 has 40,
  // 40 has 40, 60 has 30, 70 has 20: 70 goes.
  EXPECT_THAT(Steps(), ElementsAre(20, 40, 60, 80));
}

TEST_F(CheckpointStore, StaysWithinItsBytes) {
  for (const uint64_t step : {1, 2}) ASSERT_TRUE(Keep(step, 0.5, {100, 200}).ok());
  EXPECT_EQ(Steps().size(), 2);  // they take all of the bytes
  for (const uint64_t step : {10, 20, 30}) ASSERT_TRUE(Keep(step, 0.5, {100, 250}).ok());
  EXPECT_EQ(Steps().size(), 2);
  // Also if even the newest one does not fit beside the best one.
  ASSERT_TRUE(Keep(40, 0.125, {100, 150}).ok());
  EXPECT_THAT(Steps(), ElementsAre(30));
}

TEST_F(CheckpointStore, NeverEvictsTheBestAndThePinned) {
  ASSERT_TRUE(Keep(10, 0.5).ok());
  ASSERT_TRUE(Keep(20, 0.75).ok());
  ASSERT_TRUE(PinCheckpoint(*directory_, 10, true).ok());
  for (const uint64_t step : {30, 40}) ASSERT_TRUE(Keep(step, 0.25, {3, 1 << 20}).ok());
  EXPECT_THAT(Steps(), ElementsAre(10, 20, 40));
  EXPECT_TRUE(ListCheckpoints(*directory_)[0].pinned);
  ASSERT_TRUE(PinCheckpoint(*directory_, 10, false).ok());
  ASSERT_TRUE(Keep(50, 0.25, {2, 1 << 20}).ok());
  EXPECT_THAT(Steps(), ElementsAre(20, 50));
  EXPECT_EQ(PinCheckpoint(*directory_, 30, true).code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointStore, LinksTheBest) {
  const auto target = [&] { return fs::read_symlink(InCheckpoints("best")).string(); };
  ASSERT_TRUE(Keep(10, 0.5).ok());
  EXPECT_EQ(target(), "step-10");
  ASSERT_TRUE(Keep(20, 0.25).ok());
  EXPECT_EQ(target(), "step-10");
  ASSERT_TRUE(Keep(30, 0.5).ok());
  EXPECT_EQ(target(), "step-30");
  EXPECT_TRUE(ReadFile(InCheckpoints("best/checkpoint")).ok());
}

TEST_F(CheckpointStore, StaysWithinItsBoundsIfItCannotLinkTheBest) {
  // A folder of this name cannot be replaced by a link.
  fs::create_directories(InCheckpoints("best/of-the-operator"));
  for (const uint64_t step : {10, 20, 30, 40}) {
    EXPECT_FALSE(Keep(step, 0.5, {2, 1 << 20}).ok());
  }
  EXPECT_EQ(Steps().size(), 2);
}

TEST_F(CheckpointStore, AStepThatIsKeptAgainIsReplacedUnlessItIsPinned) {
  ASSERT_TRUE(Keep(10, 0.5).ok());
  ASSERT_TRUE(Keep(10, 0.75).ok());
  EXPECT_EQ(ListCheckpoints(*directory_)[0].manifest.score(), 0.75);
  ASSERT_TRUE(PinCheckpoint(*directory_, 10, true).ok());
  ASSERT_TRUE(Keep(10, 0.25).ok());
  EXPECT_EQ(ListCheckpoints(*directory_)[0].manifest.score(), 0.75);
}

TEST_F(CheckpointStore, SweepsWhatAKilledProcessLeaves) {
  ASSERT_TRUE(Keep(10, 0.5).ok());
  for (const char* name : {"step-20.new", "step-30.gone"}) {
    fs::create_directories(InCheckpoints(name));
    std::ofstream(InCheckpoints(name) + "/checkpoint") << "half";
  }
  EXPECT_THAT(Steps(), ElementsAre(10));
  SweepCheckpoints(*directory_);
  EXPECT_FALSE(fs::exists(InCheckpoints("step-20.new")));
  EXPECT_FALSE(fs::exists(InCheckpoints("step-30.gone")));
  EXPECT_THAT(Steps(), ElementsAre(10));
  // A leftover is no obstacle either.
  fs::create_directories(InCheckpoints("step-20.new"));
  EXPECT_TRUE(Keep(20, 0.5).ok());
  EXPECT_THAT(Steps(), ElementsAre(10, 20));
}

TEST_F(CheckpointStore, LeavesAForeignFolderAlone) {
  fs::create_directories(InCheckpoints("step-007"));
  fs::create_directories(InCheckpoints("step-8"));
  std::ofstream(InCheckpoints("step-8/manifest.json")) << "{\"step\": \"8\"}";
  SweepCheckpoints(*directory_);
  EXPECT_THAT(Steps(), IsEmpty());
  EXPECT_TRUE(fs::exists(InCheckpoints("step-007")));
}

TEST_F(CheckpointStore, DoesNotListACopyUnderAnotherStep) {
  ASSERT_TRUE(Keep(10, 0.5).ok());
  fs::copy(InCheckpoints("step-10"), InCheckpoints("step-20"));
  EXPECT_THAT(Steps(), ElementsAre(10));
}

TEST_F(CheckpointStore, LeavesTheLatestCheckpointAsItIs) {
  Checkpoint checkpoint = MakeCheckpoint(**Network::Create(*NetworkPreset("tiny"), 1));
  checkpoint.step = 5;
  ASSERT_TRUE(SaveLatest(*directory_, checkpoint).ok());
  ASSERT_TRUE(Keep(10, 0.5, {1, 1}).ok());
  SweepCheckpoints(*directory_);
  const auto latest = LoadLatest(*directory_);
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ((*latest)->step, 5);
}

}  // namespace
}  // namespace mallocmuzero
