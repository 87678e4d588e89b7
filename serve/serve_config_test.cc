#include "serve/serve_config.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ServeConfig, FillsInDefaults) {
  const auto config = CompleteServeConfig({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->address(), "127.0.0.1:7500");
  EXPECT_GE(config->searches(), 1);
  EXPECT_EQ(config->threads_per_search(), 1);
  EXPECT_EQ(config->waiting(), 64);
  EXPECT_EQ(config->evaluators(), config->searches());
  EXPECT_GT(config->simulations(), 0);
}

TEST(ServeConfig, KeepsWhatIsSet) {
  const auto config =
      CompleteServeConfig(*ParseServeConfig("waiting: 0 searches: 3 checkpoint: 'run' "
                                            "security { token_file: 't' admin_token_file: 'a' }",
                                            "/etc/serve.textproto"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->waiting(), 0);
  EXPECT_EQ(config->searches(), 3);
  EXPECT_EQ(config->checkpoint(), "/etc/run");
  EXPECT_EQ(config->security().token_file(), "/etc/t");
  EXPECT_EQ(config->security().admin_token_file(), "/etc/a");
}

TEST(ServeConfig, NamesEveryMistakeWithItsLine) {
  const auto config =
      ParseServeConfig("searches: 0\nadress: 'a'\nmax_budget_seconds: -1\n", "serve.textproto");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(config.status().message(),
              AllOf(HasSubstr("serve.textproto:1: searches: 0 given"),
                    HasSubstr("serve.textproto:2: adress: no such field; address is one"),
                    HasSubstr("serve.textproto:3: max_budget_seconds: -1 given")));
}

TEST(ServeConfig, ChecksWhatFlagsSet) {
  v1::ServeConfig config;
  config.set_searches(5000);
  EXPECT_THAT(CompleteServeConfig(config).status().message(), HasSubstr("searches: 5000 given"));
  config.set_searches(1);
  config.set_device("abacus");
  EXPECT_EQ(CompleteServeConfig(config).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
