// Tests of which states a training run can be resumed from, and which it refuses.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "train/testing/small_run.h"
#include "train/training_run.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::NewFolder;
using testing::ResumeRun;
using testing::SmallConfig;
using testing::SomePrograms;
using testing::StartRun;
using testing::WeightBytes;

TEST(Resume, ResumesARunThatHasNoCheckpointYet) {
  const std::string folder = NewFolder("fresh");
  StartRun(folder, SmallConfig());
  // The state after a kill before the first checkpoint.
  std::filesystem::remove(folder + "/checkpoints/latest");
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  EXPECT_EQ(run->iteration(), 0);
  EXPECT_TRUE(run->Run({.iterations = 1}, nullptr).ok());
}

// The content of every file of a run's folder, by path. The lock names the process that has it
// last.
std::map<std::string, std::string> FilesOf(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "lock") continue;
    files[entry.path().string()] = *ReadFile(entry.path().string());
  }
  return files;
}

TEST(Resume, RefusesToBeginAnewInARunWhoseCheckpointIsGoneAndChangesNothing) {
  const std::string folder = NewFolder("lost");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 3}, nullptr).ok());
  std::filesystem::remove(folder + "/checkpoints/latest");
  const std::map<std::string, std::string> before = FilesOf(folder);
  const absl::Status status = TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("checkpoints/latest: missing"));
  EXPECT_TRUE(FilesOf(folder) == before);
}

TEST(Resume, GoesOnExactlyFromTheCheckpointBeforeTheLatest) {
  const std::unique_ptr<TrainingRun> unbroken = StartRun(NewFolder("unbroken"), SmallConfig());
  ASSERT_TRUE(unbroken->Run({.iterations = 7}, nullptr).ok());

  const std::string folder = NewFolder("broken");
  const std::string latest = folder + "/checkpoints/latest";
  // The run saves checkpoints of iterations 0, 2, 4 and 5. That of iteration 5 is damaged.
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 5}, nullptr).ok());
  std::filesystem::resize_file(latest, std::filesystem::file_size(latest) / 2);
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
              HasSubstr("copy " + folder + "/checkpoints/previous"));
  std::filesystem::copy_file(folder + "/checkpoints/previous", latest,
                             std::filesystem::copy_options::overwrite_existing);
  {
    const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
    EXPECT_EQ(run->iteration(), 4);
    EXPECT_EQ(run->directory().ReadMetrics()->size(), 4);
    ASSERT_TRUE(run->Run({.iterations = 5}, nullptr).ok());
  }
  // The same again, with a previous checkpoint that the resumed run has written.
  std::filesystem::copy_file(folder + "/checkpoints/previous", latest,
                             std::filesystem::copy_options::overwrite_existing);
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  EXPECT_EQ(run->iteration(), 4);
  ASSERT_TRUE(run->Run({.iterations = 7}, nullptr).ok());
  EXPECT_TRUE(WeightBytes(*run) == WeightBytes(*unbroken));
  EXPECT_EQ(run->games(), unbroken->games());
  EXPECT_EQ(run->directory().ReadMetrics()->size(), 7);
}

TEST(Resume, StoppedAtOnceItKeepsTheCheckpointBefore) {
  const std::string folder = NewFolder("at_once");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 4}, nullptr).ok());
  const std::string previous = *ReadFile(folder + "/checkpoints/previous");
  ASSERT_TRUE(ResumeRun(folder)->Run({.stop = [] { return true; }}, nullptr).ok());
  EXPECT_TRUE(*ReadFile(folder + "/checkpoints/previous") == previous);
  std::filesystem::copy_file(folder + "/checkpoints/previous", folder + "/checkpoints/latest",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(ResumeRun(folder)->iteration(), 2);
}

TEST(Resume, StoppedAtOnceItKeepsTheGamesOfItsCheckpoint) {
  const std::string folder = NewFolder("fewer_games");
  v1::TrainConfig config = SmallConfig();
  ASSERT_TRUE(StartRun(folder, config)->Run({.iterations = 2}, nullptr).ok());
  const std::string games = *ReadFile(folder + "/replay/2.games");
  config.mutable_replay()->set_max_decisions(60);
  ASSERT_TRUE(WriteMessage(folder + "/config.textproto", config).ok());
  ASSERT_TRUE(ResumeRun(folder)->Run({.stop = [] { return true; }}, nullptr).ok());
  EXPECT_TRUE(*ReadFile(folder + "/replay/2.games") == games);
  EXPECT_EQ(ResumeRun(folder)->iteration(), 2);
}

TEST(Resume, FindsTheLastFinishedIterationAfterAnError) {
  const std::string folder = NewFolder("failed");
  v1::TrainConfig config = SmallConfig();
  config.set_checkpoint_iterations(10);
  const std::string metrics = folder + "/metrics.jsonl";
  const absl::Status status =
      StartRun(folder, config)->Run({.iterations = 3}, [&](const v1::TrainMetrics&) {
        std::filesystem::remove(metrics);
        std::filesystem::create_directory(metrics);
      });
  EXPECT_THAT(status.message(), HasSubstr("metrics.jsonl"));
  std::filesystem::remove(metrics);
  EXPECT_EQ(ResumeRun(folder)->iteration(), 1);
}

TEST(Resume, RemovesNothingIfItCannotGoOn) {
  const std::string folder = NewFolder("cannot");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  const std::string later = folder + "/replay/99.games";
  std::ofstream(later) << "games";
  {
    const FileSizeLimit full(200);
    EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
                HasSubstr("metrics.jsonl"));
  }
  EXPECT_TRUE(std::filesystem::exists(later));
}

TEST(Start, LeavesNoRunIfItsFirstCheckpointFindsNoRoom) {
  const std::string folder = NewFolder("no_room");
  {
    const FileSizeLimit full(uint64_t{16} << 10);
    EXPECT_THAT(
        TrainingRun::Start(folder, SmallConfig(), SomePrograms(), Device::kCpu).status().message(),
        HasSubstr("checkpoints/latest"));
  }
  EXPECT_EQ(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StartRun(folder, SmallConfig())->iteration(), 0);
}

TEST(Resume, TheProcessThatAnotherOneHasReplacedWritesNothingMore) {
  const std::string folder = NewFolder("replaced");
  const std::unique_ptr<TrainingRun> run = StartRun(folder, SmallConfig());
  ASSERT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
  const std::map<std::string, std::string> before = FilesOf(folder);
  // On a file system without locks a second process gets the lock, too.
  std::ofstream(folder + "/lock") << "process 1 on b, since today";
  for (const uint64_t iterations : {2, 4}) {
    const absl::Status status = run->Run({.iterations = iterations}, nullptr);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("has taken over this run (process 1 on b"));
  }
  EXPECT_TRUE(FilesOf(folder) == before);
}

TEST(Resume, RefusesACheckpointThatIsDamaged) {
  const std::string folder = NewFolder("damaged");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  const std::string path = folder + "/checkpoints/latest";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
              HasSubstr(path));
}

// Changes the run's state to one that a cluster's learner has written.
void ContinueByALearner(const std::string& folder) {
  Checkpoint checkpoint = *LoadCheckpoint(folder + "/checkpoints/latest");
  v1::TrainState state;
  ASSERT_TRUE(state.ParseFromString(checkpoint.training_state));
  state.clear_replay();
  checkpoint.training_state = state.SerializeAsString();
  ASSERT_TRUE(SaveCheckpoint(folder + "/checkpoints/latest", checkpoint).ok());
}

TEST(Resume, SaysThatARunIsTheOneOfAClustersLearner) {
  const std::string folder = NewFolder("continued");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  ContinueByALearner(folder);
  const auto refusal = [&] {
    const absl::Status status = TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  const std::string from = "--from " + folder + "/checkpoints/latest";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a cluster's learner"), HasSubstr(from)));
  // A run that a learner began also lacks the settings of `train`.
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->clear_games_per_iteration();
  ASSERT_TRUE(WriteMessage(folder + "/config.textproto", config).ok());
  EXPECT_THAT(refusal(), HasSubstr("a cluster's learner"));
}

TEST(Resume, SaysWhatToDoWithoutTheGamesOfItsCheckpoint) {
  const std::string folder = NewFolder("no_games");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  std::filesystem::remove(folder + "/replay/1.games");
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
              AllOf(HasSubstr("replay/1.games: "), HasSubstr("--from ")));
}

}  // namespace
}  // namespace mallocmuzero
