#include "cli/choice_flag.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::HasSubstr;

TEST(TakeOneOf, NamesTheWordsInTheHelpAndInTheError) {
  std::string device = "cpu";
  CLI::App app;
  TakeOneOf(*app.add_option("--device", device)->capture_default_str(), {"cpu", "cuda"});
  EXPECT_THAT(app.help(), HasSubstr("--device cpu|cuda=cpu"));
  app.parse(std::vector<std::string>{"--device=cuda"});
  EXPECT_EQ(device, "cuda");
  try {
    app.parse(std::vector<std::string>{"--device=gpu"});
    ADD_FAILURE() << "gpu is taken";
  } catch (const CLI::ParseError& error) {
    EXPECT_EQ(std::string(error.what()), "--device: expected one of cpu, cuda, found 'gpu'");
  }
}

}  // namespace
}  // namespace mallocmuzero::cli
