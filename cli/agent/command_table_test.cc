// The table of subcommands lists what the two executables have.

#include "cli/command_table.h"

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cli/agent/commands.h"
#include "cli/command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::UnorderedElementsAreArray;

// The names of all subcommands that `add_commands` adds and --help lists, those of `bench` too.
std::vector<std::string> NamesOf(AddCommand add_commands) {
  CLI::App app("", "mallocmuzero");
  CommandBody body;
  add_commands(app, body);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    names.push_back(command->get_name());
    for (const CLI::App* subcommand : command->get_subcommands({})) {
      names.push_back(absl::StrCat(command->get_name(), " ", subcommand->get_name()));
    }
  }
  return names;
}

TEST(CommandTable, NamesWhatTheFirstExecutableLists) {
  std::vector<std::string> names;
  for (const CommandInfo& info : CommandTable()) names.push_back(info.name);
  EXPECT_THAT(NamesOf(AddAllCommands), UnorderedElementsAreArray(names));
}

TEST(CommandTable, LeavesToTheSecondExecutableExactlyWhatItHas) {
  // It plays networks in `map`, which the first executable has without them.
  std::vector<std::string> names = {"map", "bench", "launch"};
  for (const CommandInfo& info : CommandTable()) {
    if (info.add == nullptr) names.push_back(info.name);
  }
  EXPECT_THAT(NamesOf(AddAgentCommands), UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace mallocmuzero::cli
