#include "serve/batch_lane.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "actor/search/search.h"
#include "actor/search/testing/hash_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/shared_network.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

constexpr uint32_t kActions = 3;
constexpr uint32_t kSlots = 8;
constexpr absl::Duration kVeryLong = absl::Hours(1);

std::unique_ptr<LatentModel> MakeHashModel(uint32_t slots) {
  return std::make_unique<testing::HashModel>(testing::HashModelOptions(), slots, kActions);
}

// The results of a few rows.
struct Results {
  std::vector<float> values;
  std::vector<float> rewards;
  std::vector<float> logits;

  explicit Results(size_t rows) : values(rows), rewards(rows), logits(rows * kActions) {}
  Evaluations out() {
    return {.values = absl::MakeSpan(values),
            .rewards = absl::MakeSpan(rewards),
            .logits = absl::MakeSpan(logits)};
  }
  friend bool operator==(const Results&, const Results&) = default;
};

class BatchLaneTest : public ::testing::Test {
 protected:
  void MakeLane(uint32_t places, absl::Duration wait) {
    lane_ = std::make_unique<BatchLane>(MakeHashModel(places * kSlots), places, wait,
                                        [this](const LaneBatch& batch) {
                                          const absl::MutexLock lock(&mutex_);
                                          batches_.push_back(batch);
                                        });
  }

  // Evaluates a root and two steps behind it.
  Results Play(uint32_t place, float observation) {
    Results results(1);
    const uint32_t root = 0;
    lane_->EvaluateRoots(place, {&observation, 1}, {&root, 1}, results.out());
    for (const LatentStep& step : kSteps) {
      lane_->EvaluateSteps(place, {&step, 1}, results.out());
    }
    return results;
  }

  // The same with a model of one's own.
  static Results PlayAlone(float observation) {
    const auto model = MakeHashModel(kSlots);
    Results results(1);
    const uint32_t root = 0;
    model->EvaluateRoots({&observation, 1}, {&root, 1}, results.out());
    for (const LatentStep& step : kSteps) model->EvaluateSteps({&step, 1}, results.out());
    return results;
  }

  static constexpr LatentStep kSteps[] = {{.parent = 0, .child = 1, .action = 2},
                                          {.parent = 1, .child = 7, .action = 1}};

  absl::Mutex mutex_;
  std::vector<LaneBatch> batches_;
  std::unique_ptr<BatchLane> lane_;
};

TEST_F(BatchLaneTest, EachSearchHasItsOwnSlotsAndResults) {
  constexpr uint32_t kSearches = 6;
  MakeLane(kSearches, absl::ZeroDuration());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint32_t k = 0; k < kSearches; ++k) {
    threads.emplace_back([&, place = lane_->Enter(), k] {
      for (int game = 0; game < 200; ++game) {
        const auto observation = static_cast<float>(1000 * k + game);
        if (Play(place, observation) != PlayAlone(observation)) ++wrong;
      }
      lane_->Leave(place);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(lane_->free_places(), kSearches);
}

TEST_F(BatchLaneTest, SearchesShareABatch) {
  MakeLane(2, kVeryLong);
  const uint32_t first = lane_->Enter();
  const uint32_t second = lane_->Enter();
  std::thread other([&] { Play(second, 2); });
  Play(first, 1);
  other.join();
  EXPECT_EQ(batches_.size(), 3);
  EXPECT_THAT(batches_, Each(AllOf(Field(&LaneBatch::searches, 2), Field(&LaneBatch::rows, 2))));
}

TEST_F(BatchLaneTest, RootsAndStepsAreInOneBatch) {
  MakeLane(2, kVeryLong);
  const uint32_t first = lane_->Enter();
  const uint32_t second = lane_->Enter();
  std::thread other([&] { Play(second, 2); });
  Results results(1);
  const float observation = 5;
  const uint32_t root = 0;
  for (int k = 0; k < 3; ++k) {
    lane_->EvaluateRoots(first, {&observation, 1}, {&root, 1}, results.out());
  }
  other.join();
  Results expected(1);
  MakeHashModel(1)->EvaluateRoots({&observation, 1}, {&root, 1}, expected.out());
  EXPECT_EQ(results, expected);
  EXPECT_THAT(batches_, Each(Field(&LaneBatch::searches, 2)));
}

TEST_F(BatchLaneTest, AFailureOfTheDeviceIsThatOfEverySearchOfTheBatch) {
  // Throws at the first batch, as LibTorch does.
  class FailingModel final : public LatentModel {
   public:
    explicit FailingModel(uint32_t slots) : model_(MakeHashModel(slots)) {}
    uint32_t slots() const override { return model_->slots(); }
    uint32_t actions() const override { return model_->actions(); }
    uint32_t observation_size() const override { return model_->observation_size(); }
    void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                       const Evaluations& out) override {
      if (!std::exchange(has_failed_, true)) throw std::runtime_error("CUDA error");
      model_->EvaluateRoots(observations, roots, out);
    }
    void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
      model_->EvaluateSteps(steps, out);
    }

   private:
    const std::unique_ptr<LatentModel> model_;
    bool has_failed_ = false;
  };
  lane_ = std::make_unique<BatchLane>(std::make_unique<FailingModel>(2 * kSlots), 2, kVeryLong,
                                      nullptr);
  const uint32_t first = lane_->Enter();
  const uint32_t second = lane_->Enter();
  std::thread other([&] { EXPECT_THROW(Play(second, 2), std::runtime_error); });
  EXPECT_THROW(Play(first, 1), std::runtime_error);
  other.join();
  lane_->Leave(second);
  EXPECT_EQ(Play(first, 3), PlayAlone(3));
}

TEST_F(BatchLaneTest, ASearchAloneDoesNotWait) {
  MakeLane(2, kVeryLong);
  const uint32_t first = lane_->Enter();
  lane_->Leave(lane_->Enter());  // another one came and went
  EXPECT_EQ(Play(first, 3), PlayAlone(3));
  EXPECT_THAT(batches_, Each(Field(&LaneBatch::searches, 1)));
}

TEST(SharedNetwork, SpreadsSearchesOverItsEvaluators) {
  std::vector<uint32_t> slots;
  const auto network = SharedNetwork::Create(
      [&](uint32_t wanted) -> absl::StatusOr<std::unique_ptr<LatentModel>> {
        slots.push_back(wanted);
        return MakeHashModel(wanted);
      },
      {.evaluators = 2, .models = 3, .slots = kSlots, .batch_wait = {}, .batched = {}});
  ASSERT_TRUE(network.ok());
  EXPECT_THAT(slots, ElementsAre(2 * kSlots, 2 * kSlots));
  std::vector<std::unique_ptr<LatentModel>> models;
  for (int k = 0; k < 4; ++k) models.push_back(*(*network)->MakeModel(kSlots));
  EXPECT_EQ((*network)->MakeModel(kSlots).status().code(), absl::StatusCode::kResourceExhausted);
  models.pop_back();
  EXPECT_TRUE((*network)->MakeModel(kSlots).ok());
  EXPECT_EQ((*network)->MakeModel(kSlots + 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SharedNetwork, LivesAsLongAsAModel) {
  std::unique_ptr<LatentModel> model;
  {
    const auto network = *SharedNetwork::Create(
        [](uint32_t slots) -> absl::StatusOr<std::unique_ptr<LatentModel>> {
          return MakeHashModel(slots);
        },
        {.evaluators = 1, .models = 1, .slots = kSlots, .batch_wait = {}, .batched = {}});
    model = *network->MakeModel(kSlots);
  }
  Results results(1);
  Results expected(1);
  const float observation = 9;
  const uint32_t root = 3;
  model->EvaluateRoots({&observation, 1}, {&root, 1}, results.out());
  MakeHashModel(kSlots)->EvaluateRoots({&observation, 1}, {&root, 1}, expected.out());
  EXPECT_EQ(results, expected);
}

}  // namespace
}  // namespace mallocmuzero
