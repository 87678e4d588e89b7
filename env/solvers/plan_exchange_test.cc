#include "env/solvers/plan_exchange.h"

#include <optional>

#include "env/action.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(PlanExchange, HandsOutTheBestPlanToThoseThatHaveNoneAsGood) {
  PlanExchange exchange;
  EXPECT_EQ(exchange.BetterThan(1e9), std::nullopt);
  exchange.Offer({Action::kDrop}, 20);
  exchange.Offer({Action::kCopy}, 10);
  exchange.Offer({Action::kNoCopy}, 15);
  EXPECT_EQ(exchange.BetterThan(11), Plan({Action::kCopy}));
  EXPECT_EQ(exchange.BetterThan(10), std::nullopt);
}

}  // namespace
}  // namespace mallocmuzero
