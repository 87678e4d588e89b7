// What flags refuse: numbers that CLI11 alone would misread, and flags that would be ignored.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cli/agent/commands.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::HasSubstr;

// The error of a command line, such as {"bench", "search", "--batch=010"}; empty if there is none.
std::string ErrorOf(std::vector<std::string> arguments) {
  CLI::App app("", "mallocmuzero");
  CommandBody body;
  (arguments.front() == "explain" ? AddAllCommands : AddAgentCommands)(app, body);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

// The error with which a command that is parsed ends at once.
std::string EndOf(std::vector<std::string> arguments) {
  CLI::App app("", "mallocmuzero");
  CommandBody body;
  AddAgentCommands(app, body);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
  return std::string(body.run().status().message());
}

TEST(NumberFlags, AreDecimalInEveryCommand) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> commands[] = {
      {{"explain"}, {"--limit"}},
      {{"export"}, {"--samples", "--seed"}},
      {{"train"}, {"--iterations", "--threads", "--seed"}},
      {{"bench", "actors"}, {"--actors"}},
      {{"bench", "play"}, {"--simulations", "--seed"}},
      {{"bench", "replay"}, {"--item-bytes", "--clients", "--items"}},
      {{"bench", "search"},
       {"--hidden", "--support", "--actions", "--simulations", "--batch", "--threads"}},
      {{"bench", "self-play"}, {"--simulations", "--batch", "--threads"}},
      {{"bench", "serve"}, {"--clients", "--requests", "--seed", "--server-pid"}},
      {{"bench", "values"}, {"--games", "--threads", "--seed"}},
  };
  for (const auto& [words, flags] : commands) {
    for (const std::string& flag : flags) {
      std::vector<std::string> arguments = words;
      arguments.push_back(absl::StrCat(flag, "=010"));  // 8 in C
      EXPECT_THAT(ErrorOf(arguments), HasSubstr(absl::StrCat(flag, ": expected a whole number")))
          << words.back();
    }
  }
}

TEST(NumberFlags, OfSharesRefuseNotANumber) {
  EXPECT_THAT(ErrorOf({"bench", "values", "--least-difference=nan"}), HasSubstr("found 'nan'"));
  EXPECT_THAT(ErrorOf({"bench", "values", "--least-difference=1.5"}), HasSubstr("found '1.5'"));
  EXPECT_THAT(ErrorOf({"bench", "serve", "--most-growth=nan"}), HasSubstr("found 'nan'"));
  EXPECT_THAT(ErrorOf({"bench", "serve", "--most-growth=-1"}), HasSubstr("found '-1'"));
}

TEST(BenchServe, TakesNoFlagThatItWouldIgnore) {
  const auto error_with = [](const std::string& what, const std::string& flag) {
    return ErrorOf({"bench", "serve", "--server=host:1", what, flag});
  };
  EXPECT_THAT(error_with("--program=p", "--most-growth=0.5"), HasSubstr("requires --server-pid"));
  EXPECT_THAT(error_with("--messages=m", "--solver=greedy"), HasSubstr("requires --program"));
  EXPECT_THAT(error_with("--messages=m", "--budget=1s"), HasSubstr("requires --program"));
  EXPECT_EQ(error_with("--program=p", "--budget=1s"), "");
}

TEST(BenchServe, NamesAServerThatIsNoAddress) {
  EXPECT_EQ(EndOf({"bench", "serve", "--server=nowhere", "--program=p"}),
            "--server: host:port expected, found 'nowhere'");
}

TEST(Dashboard, TakesNoSettingOfAConfigurationThatIsNotGiven) {
  EXPECT_THAT(ErrorOf({"dashboard", "--run=r", "--set=learner.name=l"}),
              HasSubstr("--set requires --config"));
  EXPECT_EQ(ErrorOf({"dashboard", "--config=c", "--set=learner.name=l"}), "");
}

TEST(Dashboard, SaysThatLocalSearchMayHaveNoTime) {
  for (const std::string wrong : {"x", "-1s", "inf"}) {
    EXPECT_EQ(EndOf({"dashboard", absl::StrCat("--local-search=", wrong)}),
              absl::StrCat("--local-search: '", wrong,
                           "': 0 or a time such as 500ms, 60s or 5m expected"));
  }
  for (const std::string right : {"0", "0s", "5m"}) {
    EXPECT_EQ(EndOf({"dashboard", absl::StrCat("--local-search=", right)}),
              "--run or --config expected");
  }
}

}  // namespace
}  // namespace mallocmuzero::cli
