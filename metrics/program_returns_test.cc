#include "metrics/program_returns.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/families.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SetReturns, LeavesOutTheBestGameBeforeThereIsOne) {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Gauge>& returns = MakeGauges(registry, "return_ratio", "Returns.");
  const auto text = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  v1::TrainMetrics::Program program;
  program.set_name("lstm");
  program.set_greedy_return(0.25);
  SetReturns(program, returns);
  EXPECT_THAT(text(), HasSubstr("player=\"greedy\""));
  EXPECT_THAT(text(), Not(HasSubstr("player=\"best\"")));
  program.set_best_return(0.5);
  SetReturns(program, returns);
  EXPECT_THAT(text(), HasSubstr("player=\"best\",program=\"lstm\"} 0.5"));
}

}  // namespace
}  // namespace mallocmuzero
