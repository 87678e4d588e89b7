#include "serve/network_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

class NetworkStoreTest : public ::testing::Test {
 protected:
  NetworkStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "store-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    options_.checkpoint = folder_;
    options_.sharing = {.evaluators = 1, .models = 2, .slots = 4, .batch_wait = {}, .batched = {}};
    std::filesystem::create_directories(folder_ + "/checkpoints");
  }
  ~NetworkStoreTest() override { std::filesystem::remove_all(folder_); }

  // Writes the latest checkpoint of a run, as the learner does.
  void Save(uint64_t step) const {
    const auto network = Network::Create(*NetworkPreset("tiny"), step);
    Checkpoint checkpoint = MakeCheckpoint(**network);
    checkpoint.step = step;
    ASSERT_TRUE(SaveCheckpoint(latest(), checkpoint).ok());
  }
  std::string latest() const { return folder_ + "/checkpoints/latest"; }

  std::string folder_;
  NetworkStoreOptions options_;
};

TEST_F(NetworkStoreTest, PlaysTheNewestCheckpointOfARun) {
  Save(1);
  const auto store = NetworkStore::Open(options_);
  ASSERT_TRUE(store.ok()) << store.status();
  const std::shared_ptr<const LoadedNetwork> first = (*store)->current();
  EXPECT_EQ(first->step, 1);
  EXPECT_FALSE(*(*store)->Reload());
  Save(2);
  EXPECT_TRUE(*(*store)->Reload());
  EXPECT_FALSE(*(*store)->Reload());
  EXPECT_EQ((*store)->current()->step, 2);
  EXPECT_EQ((*store)->reloads(), 1);
  // A search that has begun keeps its network.
  EXPECT_EQ(first->step, 1);
  EXPECT_TRUE(first->network.make_model(4).ok());
}

TEST_F(NetworkStoreTest, KeepsItsNetworkIfTheNextCheckpointIsDamagedOrGone) {
  Save(1);
  const auto store = *NetworkStore::Open(options_);
  std::ofstream(latest(), std::ios::app) << "rubbish";
  const auto failed = store->Reload();
  EXPECT_THAT(failed.status().message(), HasSubstr(latest()));
  EXPECT_FALSE(*store->Reload());  // the same file is not tried again
  std::filesystem::remove(latest());
  EXPECT_FALSE(*store->Reload());
  EXPECT_EQ(store->current()->step, 1);
  Save(3);
  EXPECT_TRUE(*store->Reload());
  EXPECT_EQ(store->current()->step, 3);
}

TEST_F(NetworkStoreTest, FindsCheckpointsByFileByRunAndByFolder) {
  EXPECT_EQ(FindCheckpoint(folder_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(NetworkStore::Open(options_).status().code(), absl::StatusCode::kNotFound);
  Save(1);
  EXPECT_EQ(*FindCheckpoint(folder_), latest());
  EXPECT_EQ(*FindCheckpoint(latest()), latest());
  const std::string scored = folder_ + "/checkpoints/step-1";
  std::filesystem::create_directory(scored);
  std::filesystem::rename(latest(), scored + "/checkpoint");
  EXPECT_EQ(*FindCheckpoint(scored), scored + "/checkpoint");
  std::filesystem::create_directory_symlink("step-1", latest());
  EXPECT_EQ(*FindCheckpoint(folder_), latest() + "/checkpoint");
}

}  // namespace
}  // namespace mallocmuzero
