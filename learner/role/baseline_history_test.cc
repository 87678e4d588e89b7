#include "learner/role/baseline_history.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

std::shared_ptr<const Baselines> Some() { return std::make_shared<const Baselines>(); }

TEST(BaselineHistory, FindsTheBaselinesOfTheLastUpdateOfANetwork) {
  BaselineHistory history;
  EXPECT_EQ(history.At(5), nullptr);
  const auto first = Some();
  const auto second = Some();
  history.Add(10, first);
  history.Add(20, second);
  EXPECT_EQ(history.At(11), first);
  EXPECT_EQ(history.At(19), first);
  // The 20th update was made before the second baselines.
  EXPECT_EQ(history.At(20), first);
  EXPECT_EQ(history.At(21), second);
  EXPECT_EQ(history.At(1000), second);
  // The oldest that there are.
  EXPECT_EQ(history.At(10), first);
  EXPECT_EQ(history.At(3), first);
}

TEST(BaselineHistory, ForgetsLaterBaselinesAfterAStepBack) {
  BaselineHistory history;
  const auto first = Some();
  const auto again = Some();
  history.Add(10, first);
  history.Add(20, Some());
  history.Add(30, Some());
  history.Add(20, again);
  EXPECT_EQ(history.At(15), first);
  EXPECT_EQ(history.At(40), again);
}

TEST(BaselineHistory, KeepsFewerOfTheOlderBaselines) {
  BaselineHistory history;
  std::vector<std::shared_ptr<const Baselines>> all;
  for (uint64_t step = 0; step < 1000; ++step) {
    all.push_back(Some());
    history.Add(step, all.back());
  }
  std::set<uint64_t> kept;
  uint64_t largest_distance = 0;
  for (uint64_t step = 0; step < 1000; ++step) {
    const auto found = static_cast<uint64_t>(
        std::find(all.begin(), all.end(), history.At(step + 1)) - all.begin());
    kept.insert(found);
    EXPECT_LE(found, step);
    // The distance to the baselines that are kept is at most twice the age.
    EXPECT_LE(step - found, 2 * (1000 - step)) << step;
    largest_distance = std::max(largest_distance, step - found);
  }
  EXPECT_EQ(kept.size(), BaselineHistory::kMostBaselines);
  EXPECT_GT(largest_distance, 100);
  EXPECT_EQ(history.At(1000), all[999]);
}

}  // namespace
}  // namespace mallocmuzero
