#include "learner/run_checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunCheckpoint : public ::testing::Test {
 protected:
  RunCheckpoint() {
    folder_ = ::testing::TempDir() + "/run_checkpoint_test";
    std::filesystem::remove_all(folder_);
    directory_ = *RunDirectory::Create(folder_, {});
    latest_ = directory_->checkpoint_path();
    previous_ = directory_->previous_checkpoint_path();
    checkpoint_ = MakeCheckpoint(**Network::Create(*NetworkPreset("tiny"), 1));
  }

  absl::Status Save(uint64_t step) {
    checkpoint_.step = step;
    return SaveLatest(*directory_, checkpoint_);
  }

  static uint64_t StepOf(const std::string& path) { return LoadCheckpoint(path)->step; }

  // The error of LoadLatest, which must change no file.
  std::string Refusal() const {
    const absl::Status status = LoadLatest(*directory_).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  std::string folder_;
  absl::StatusOr<RunDirectory> directory_ = absl::UnknownError("");
  std::string latest_;
  std::string previous_;
  Checkpoint checkpoint_;
};

TEST_F(RunCheckpoint, IsNoneBeforeTheRunHasBegun) {
  const auto none = LoadLatest(*directory_);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_value());
}

TEST_F(RunCheckpoint, KeepsTheOneBeforeTheLatest) {
  ASSERT_TRUE(Save(1).ok());
  EXPECT_FALSE(std::filesystem::exists(previous_));
  for (uint64_t step = 2; step <= 4; ++step) {
    ASSERT_TRUE(Save(step).ok());
    EXPECT_EQ((*LoadLatest(*directory_))->step, step);
    EXPECT_EQ(StepOf(previous_), step - 1);
  }
  // The folder has no other files.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/checkpoints"), {}), 2);
}

TEST_F(RunCheckpoint, AKillBetweenTheStepsLeavesTwoWholeOnes) {
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Save(2).ok());
  // The state after a kill when the latest checkpoint had also become the previous one, and a new
  // one was partly written.
  std::filesystem::remove(previous_);
  std::filesystem::create_hard_link(latest_, previous_);
  std::ofstream(folder_ + "/checkpoints/next") << "half a ch";
  std::ofstream(previous_ + ".new") << "half a ch";
  EXPECT_EQ((*LoadLatest(*directory_))->step, 2);
  EXPECT_EQ(StepOf(previous_), 2);
  ASSERT_TRUE(Save(3).ok());
  EXPECT_EQ(StepOf(latest_), 3);
  EXPECT_EQ(StepOf(previous_), 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/checkpoints"), {}), 2);
}

TEST_F(RunCheckpoint, AFullDiskLeavesBothAsTheyWere) {
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Save(2).ok());
  absl::Status full;
  {
    const FileSizeLimit limit(std::filesystem::file_size(latest_) / 2);
    full = Save(3);
  }
  EXPECT_THAT(full.message(), HasSubstr("File too large"));
  EXPECT_EQ(StepOf(latest_), 2);
  EXPECT_EQ(StepOf(previous_), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/checkpoints"), {}), 2);
}

TEST_F(RunCheckpoint, AStateWithNumbersThatNoRunHasIsRefused) {
  const auto read = [&](const v1::TrainState& state) {
    checkpoint_.training_state = state.SerializeAsString();
    return ReadState(checkpoint_).status();
  };
  v1::TrainState state;
  state.set_draws_due(-1e-9);  // rounding
  state.set_seconds(7);
  EXPECT_EQ(read(state), absl::OkStatus());
  using Limits = std::numeric_limits<double>;
  for (const double wrong : {Limits::quiet_NaN(), Limits::infinity(), -1e6}) {
    state.set_draws_due(wrong);
    EXPECT_EQ(read(state),
              absl::InvalidArgumentError("draws_due: a finite number, 0 or more, expected"));
  }
  state.clear_draws_due();
  state.set_seconds(Limits::quiet_NaN());
  EXPECT_EQ(read(state), absl::InvalidArgumentError("seconds: a finite number expected"));
}

TEST_F(RunCheckpoint, OneThatIsDamagedIsRefusedAndTheOneBeforeNamed) {
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Save(2).ok());
  std::filesystem::resize_file(latest_, std::filesystem::file_size(latest_) / 2);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(latest_), HasSubstr(absl::StrCat("copy ", previous_))));
}

TEST_F(RunCheckpoint, OneThatIsGoneFromARunThatHasBegunIsRefused) {
  const auto refused_with = [&](const std::string& file) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + file).parent_path());
    std::ofstream(folder_ + file) << "{}\n";
    EXPECT_EQ(LoadLatest(*directory_).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Refusal(), HasSubstr(latest_ + ": missing")) << file;
    EXPECT_TRUE(std::filesystem::remove(folder_ + file));
  };
  refused_with("/metrics.jsonl");
  refused_with("/best/chip/program.mapping");
  refused_with("/replay/8.games");
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Save(2).ok());
  std::filesystem::remove(latest_);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("missing"), HasSubstr(absl::StrCat("copy ", previous_))));
}

}  // namespace
}  // namespace mallocmuzero
