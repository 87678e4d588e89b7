// Tests of the training of a learner, each of whose processes is a thread of this one.

#include "learner/role/training.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "env/program_set.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/learning_batch.h"
#include "learner/role/batch_source.h"
#include "learner/role/game_book.h"
#include "learner/run_directory.h"
#include "learner/testing/small_learner.h"
#include "model/network_config.h"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(60);

class TrainingTest : public ::testing::Test {
 protected:
  // One of the processes. Its replay has no games, so it makes no updates.
  struct Process {
    ~Process() {
      if (!stop.HasBeenNotified()) stop.Notify();
      if (thread.joinable()) thread.join();
    }

    std::unique_ptr<GameBook> book;
    std::unique_ptr<Training> training;
    std::unique_ptr<BatchSource> batches;
    absl::Notification stop;
    absl::Notification ended;
    absl::Status status;  // of Run, once it has ended
    std::thread thread;
  };

  TrainingTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/training_test_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    *config_.mutable_network() = *NetworkPreset("tiny");
    *config_.mutable_options() = testing::SmallOptions();
    config_.set_seed(1);
    config_.set_processes(2);
    config_.set_publish_updates(4);
    config_.set_checkpoint_seconds(1);
    config_.set_group_timeout_seconds(60);
  }

  // Hooks that do nothing. `met` becomes true with the first meeting.
  TrainingHooks Hooks(std::atomic<bool>& met) const {
    return {
        .publish = [](uint64_t, const std::string&) {},
        .played = [] { return ActorWork(); },
        .mean_returns = [this] { return std::vector<std::optional<HbmShare>>(programs_.size()); },
        .scored = [] { return std::vector<ScoredCheckpoint>(); },
        .met = [&met] { met = true; },
        .joint_call = [] {},
        .lost = [](const absl::Notification&) { return std::string("a process is lost"); },
        .may_write = [] { return absl::OkStatus(); }};
  }

  std::unique_ptr<Process> Start(uint32_t rank, TrainingHooks hooks) const {
    auto process = std::make_unique<Process>();
    process->book = *GameBook::Create(programs_, rank > 0);
    std::optional<RunDirectory> directory;
    if (rank == 0) directory = *RunDirectory::Create(folder_, v1::TrainConfig());
    process->training =
        *Training::Create(config_, rank, *process->book, std::move(directory), std::move(hooks));
    process->batches = std::make_unique<BatchSource>(
        BatchSourceOptions{
            .learner = config_.options(),
            .shape = BatchShape::Of(config_.options(), process->training->rows(), 0)},
        programs_, *process->book,
        PositionSource{
            .draw = [](v1::Selection, size_t,
                       absl::Duration) { return absl::CancelledError("there are no games"); },
            .positions = [] { return 0; },
            .prioritize = [](auto, auto) {}});
    process->thread = std::thread([p = process.get()] {
      p->status = p->training->Run(*p->batches, p->stop);
      p->ended.Notify();
    });
    return process;
  }

  const std::string folder_;
  const ProgramSet programs_ = testing::RandomProgramSet(11, 1);
  v1::LearnerRole config_;
};

TEST_F(TrainingTest, AProcessThatMayNotGoOnLeavesTheOthersAtOnce) {
  config_.set_rendezvous_address(testing::FreeAddress());
  config_.set_restart_together(true);
  std::atomic<bool> met[2] = {false, false};
  std::atomic<bool> taken_over = false;
  TrainingHooks hooks = Hooks(met[0]);
  hooks.may_write = [&taken_over]() -> absl::Status {
    if (taken_over) return absl::FailedPreconditionError("taken over");
    return absl::OkStatus();
  };
  const std::unique_ptr<Process> first = Start(0, std::move(hooks));
  const std::unique_ptr<Process> second = Start(1, Hooks(met[1]));
  ASSERT_TRUE(Await([&] { return met[0] && met[1]; }));
  taken_over = true;
  ASSERT_TRUE(first->ended.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(first->status.message(), "taken over");
  // `first` still lives, so only the end of its Run can have ended the connection.
  ASSERT_TRUE(second->ended.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(second->status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second->status.message()), HasSubstr("a process is lost ("));
  EXPECT_THAT(std::string(second->status.message()), Not(ContainsRegex("[Tt]imed? ?out")));
}

TEST_F(TrainingTest, SavesSoonAfterAFailedSave) {
  config_.set_processes(1);
  config_.set_checkpoint_seconds(86400);
  std::atomic<bool> met = false;
  const std::unique_ptr<Process> process = Start(0, Hooks(met));
  const std::string checkpoints = folder_ + "/checkpoints";
  const std::string aside = folder_ + "/aside";
  std::filesystem::rename(checkpoints, aside);
  std::ofstream(checkpoints) << "a file where a folder was";
  ASSERT_TRUE(Await([&] { return process->training->figures().failed_saves > 0; }));
  EXPECT_THAT(process->training->figures().save_error, HasSubstr("checkpoints"));
  std::filesystem::remove(checkpoints);
  std::filesystem::rename(aside, checkpoints);
  ASSERT_TRUE(Await([&] { return process->training->figures().save_error.empty(); }));
}

TEST_F(TrainingTest, SavesSoonAfterAScoredCheckpointCouldNotBeKept) {
  config_.set_processes(1);
  config_.set_checkpoint_seconds(86400);
  config_.set_scored_checkpoints(1);
  std::atomic<bool> met = false;
  std::atomic<bool> is_scored = false;
  TrainingHooks hooks = Hooks(met);
  hooks.scored = [&is_scored] {
    std::vector<ScoredCheckpoint> scored;
    if (is_scored.exchange(false)) {
      scored.push_back({.bytes = std::make_shared<const std::string>("weights")});
    }
    return scored;
  };
  const std::unique_ptr<Process> process = Start(0, std::move(hooks));
  const auto saved = [&] { return process->training->figures().last_save > absl::InfinitePast(); };
  ASSERT_TRUE(Await(saved));
  const std::string checkpoints = folder_ + "/checkpoints";
  const std::string aside = folder_ + "/aside";
  std::filesystem::rename(checkpoints, aside);
  std::ofstream(checkpoints) << "a file where a folder was";
  is_scored = true;
  ASSERT_TRUE(Await([&] { return !process->training->figures().save_error.empty(); }));
  std::filesystem::remove(checkpoints);
  std::filesystem::rename(aside, checkpoints);
  EXPECT_TRUE(Await([&] { return process->training->figures().save_error.empty(); }));
}

}  // namespace
}  // namespace mallocmuzero
