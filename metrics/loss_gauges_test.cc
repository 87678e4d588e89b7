#include "metrics/loss_gauges.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LossGauges, ShowTheLossOfEachHeadThatIsTrained) {
  prometheus::Registry registry;
  LossGauges gauges(registry, "mallocmuzero_some", "Mean loss.");
  const auto text = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  v1::TrainMetrics::Losses losses;
  losses.set_policy(0.25);
  losses.set_value(0.5);
  losses.set_reward(0.75);
  losses.set_gradient_norm(2);
  losses.set_value_error(3);
  losses.set_learning_rate(4);
  gauges.Set(losses);
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_loss{head=\"policy\"} 0.25"));
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_loss{head=\"value\"} 0.5"));
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_loss{head=\"reward\"} 0.75"));
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_gradient_norm 2"));
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_value_error 3"));
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_learning_rate 4"));
  EXPECT_THAT(text(), Not(HasSubstr("consistency")));
  losses.set_consistency(-1);
  gauges.Set(losses);
  EXPECT_THAT(text(), HasSubstr("mallocmuzero_some_loss{head=\"consistency\"} -1"));
}

}  // namespace
}  // namespace mallocmuzero
