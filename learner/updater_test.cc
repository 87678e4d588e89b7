#include "learner/updater.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/trained_network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr size_t kBatchRows = 3;

// Gives the batches that a test has put in, and notes the priorities that come back.
class FakeChannel final : public BatchChannel {
 public:
  absl::StatusOr<std::optional<LearningBatch>> Next(absl::Duration /*timeout*/) override {
    if (!error.ok()) return error;
    std::optional<LearningBatch> next;
    if (batches.empty()) return next;
    next = std::move(batches.front());
    batches.pop_front();
    return next;
  }

  void SetPriorities(absl::Span<const DrawnPosition> drawn,
                     absl::Span<const double> errors) override {
    for (const DrawnPosition& position : drawn) serials.push_back(position.serial);
    priorities.assign(errors.begin(), errors.end());
  }

  std::deque<LearningBatch> batches;
  absl::Status error;
  std::vector<uint64_t> serials;
  std::vector<double> priorities;
};

class UpdaterTest : public ::testing::Test {
 protected:
  static TrainedNetwork Create() {
    SetComputeThreads(1);
    v1::LearnerOptions options;
    options.set_batch_size(kBatchRows);
    options.set_samples_per_insert(1);
    options.set_learning_rate(1e-3F);
    options.set_max_gradient_norm(1);
    options.set_value_weight(1);
    return *TrainedNetwork::Create(*NetworkPreset("tiny"), options, 1, Device::kCpu);
  }

  // A batch of three rows with values 0.25, 0.5 and 1, and weights 1, 2 and 4. The first two rows
  // were drawn from the games with the serials 2 x number and 2 x number + 1.
  static LearningBatch MakeBatch(uint64_t number) {
    auto block = std::make_shared<UnrollBatch>();
    block->Resize(kBatchRows, 0);
    block->values = {0.25F, 0.5F, 1};
    block->weights = {1, 2, 4};
    return {.block = std::move(block),
            .first = 0,
            .rows = kBatchRows,
            .prioritized = {{.serial = 2 * number}, {.serial = 2 * number + 1}}};
  }

  TrainedNetwork trained_ = Create();
  FakeChannel channel_;
  Updater updater_{trained_.learner(), channel_};
};

TEST_F(UpdaterTest, WithoutABatchItIsNotReady) {
  EXPECT_FALSE(*updater_.Fetch(absl::ZeroDuration()));
  EXPECT_FALSE(*updater_.Agree(nullptr));
  channel_.batches.push_back(MakeBatch(0));
  EXPECT_TRUE(*updater_.Fetch(absl::ZeroDuration()));
  EXPECT_TRUE(*updater_.Agree(nullptr));
}

TEST_F(UpdaterTest, PositionsDrawnByPriorityGetTheirErrors) {
  channel_.batches.push_back(MakeBatch(1));
  ASSERT_TRUE(*updater_.Fetch(absl::ZeroDuration()));
  ASSERT_TRUE(*updater_.Agree(nullptr));
  const absl::StatusOr<Updater::Done> done = updater_.Update(nullptr);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(trained_.step(), 1);
  EXPECT_EQ(done->result.value_errors.size(), kBatchRows);
  EXPECT_THAT(channel_.serials, ElementsAre(2, 3));
  // Fresh networks predict the value 0.
  ASSERT_EQ(channel_.priorities.size(), 2);
  EXPECT_NEAR(channel_.priorities[0], 0.25, 1e-4);
  EXPECT_NEAR(channel_.priorities[1], 0.5, 1e-4);
  // The largest weight is 4.
  EXPECT_THAT(done->batch.block->weights, ElementsAre(FloatEq(0.25F), FloatEq(0.5F), FloatEq(1)));
}

TEST_F(UpdaterTest, EachBatchIsUsedOnceUnlessItIsDropped) {
  for (uint64_t i = 0; i < 3; ++i) channel_.batches.push_back(MakeBatch(i));
  ASSERT_TRUE(*updater_.Fetch(absl::ZeroDuration()));
  ASSERT_TRUE(*updater_.Fetch(absl::ZeroDuration()));
  EXPECT_EQ(channel_.batches.size(), 2);
  updater_.Drop();
  for (uint64_t i = 1; i < 3; ++i) {
    ASSERT_TRUE(*updater_.Fetch(absl::ZeroDuration()));
    ASSERT_TRUE(*updater_.Agree(nullptr));
    ASSERT_TRUE(updater_.Update(nullptr).ok());
  }
  EXPECT_THAT(channel_.serials, ElementsAre(2, 3, 4, 5));
  EXPECT_FALSE(*updater_.Fetch(absl::ZeroDuration()));
}

TEST_F(UpdaterTest, AnErrorOfTheChannelIsThatOfTheFetch) {
  channel_.error = absl::NotFoundError("no such program");
  EXPECT_EQ(updater_.Fetch(absl::ZeroDuration()).status(), channel_.error);
}

}  // namespace
}  // namespace mallocmuzero
