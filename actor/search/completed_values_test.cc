// Tests of the numbers that a Gumbel search gives its caller, against the formulas of the paper
// (Danihelka et al., 2022), computed by hand.

#include <cmath>
#include <cstdint>
#include <vector>

#include "actor/search/search.h"
#include "base/size32.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

// A search of three actions with the shares 1/2, 1/4 and 1/4, whose network says 1 of the root.
// The k-th simulation finds a latent state that is worth returns[k].
Search SearchOf(const std::vector<float>& returns) {
  Search search({.simulations = Size32<uint32_t>(returns)}, 1, 3);
  search.Start(0, 1, {std::log(0.5F), std::log(0.25F), std::log(0.25F)}, {.gumbel_scale = 0});
  for (float value : returns) {
    std::vector<LatentStep> steps(1);
    search.Select({0}, absl::MakeSpan(steps));
    std::vector<float> reward = {0};
    std::vector<float> logits = {0, 0, 0};
    search.Backup({0}, {absl::MakeSpan(&value, 1), absl::MakeSpan(reward), absl::MakeSpan(logits)});
  }
  return search;
}

// Appendix D: (v + N x the mean of the visited values by their shares) / (1 + N), for N visits.
TEST(CompletedValues, WithoutAVisitAreTheMixedValue) {
  Search once = SearchOf({3});
  // (1 + 1 x 3) / 2.
  EXPECT_THAT(once.Result(0).q_values, ElementsAre(3, FloatEq(2), FloatEq(2)));
  Search twice = SearchOf({3, -1});
  // (1 + 2 x (0.5 x 3 + 0.25 x -1) / 0.75) / 3.
  EXPECT_THAT(twice.Result(0).q_values, ElementsAre(3, -1, FloatNear(1.4444444F, 1e-6F)));
}

// Equation 11: shares x exp(sigma), where sigma is (50 + 1) x 0.1 x the value between the least,
// -1, and the largest, 3: 5.1, 0 and 3.1167. So the shares are as 82.01 to 0.25 to 5.643.
TEST(CompletedValues, MakeTheImprovedPolicy) {
  Search search = SearchOf({3, -1});
  EXPECT_THAT(search.Result(0).policy,
              ElementsAre(FloatNear(0.9329635F, 1e-5F), FloatNear(0.0028440F, 1e-6F),
                          FloatNear(0.0641925F, 1e-5F)));
}

}  // namespace
}  // namespace mallocmuzero
