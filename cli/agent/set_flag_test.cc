#include "cli/agent/set_flag.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/train.pb.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SetField, SetsAFieldWhereverItIs) {
  v1::TrainConfig config;
  config.mutable_search()->set_maxvisit_init(50);
  EXPECT_TRUE(SetField("search.simulations=4", config).ok());
  EXPECT_TRUE(SetField("search.kind=PUCT", config).ok());
  EXPECT_TRUE(SetField("learner.learning_rate=1e-3", config).ok());
  EXPECT_TRUE(SetField("demonstration_seconds=2.5", config).ok());
  EXPECT_EQ(config.search().simulations(), 4);
  EXPECT_EQ(config.search().kind(), v1::SearchOptions::PUCT);
  EXPECT_EQ(config.search().maxvisit_init(), 50);
  EXPECT_FLOAT_EQ(config.learner().learning_rate(), 1e-3F);
  EXPECT_DOUBLE_EQ(config.demonstration_seconds(), 2.5);
}

TEST(SetField, SaysWhichFieldsThereAre) {
  v1::TrainConfig config;
  EXPECT_THAT(SetField("search.simulation=4", config).message(),
              "--set search.simulation=4: no field 'simulation'; simulations is one");
  EXPECT_THAT(SetField("searching=4", config).message(), HasSubstr("replay, learner"));
  EXPECT_THAT(SetField("seed.low=4", config).message(), HasSubstr("'seed' has no fields"));
  EXPECT_THAT(SetField("search=4", config).message(), HasSubstr("one of its fields (kind"));
}

TEST(SetField, SaysWhatTheValueMustBe) {
  v1::TrainConfig config;
  EXPECT_THAT(SetField("search.simulations=-4", config).message(), HasSubstr("uint32 expected"));
  EXPECT_THAT(SetField("search.simulations=", config).message(), HasSubstr("uint32 expected"));
  EXPECT_THAT(SetField("search.simulations", config).message(), HasSubstr("FIELD=VALUE expected"));
  EXPECT_THAT(SetField("search.kind=UCT", config).message(),
              HasSubstr("one of GUMBEL, PUCT expected"));
  EXPECT_EQ(config.search().simulations(), 0);
}

}  // namespace
}  // namespace mallocmuzero::cli
