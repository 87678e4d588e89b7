#include "cli/command_table.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace mallocmuzero::cli {
namespace {

constexpr CommandInfo kCommands[] = {
    {"import", "Turn the HLO of one program, compiled under several placements, into a program",
     AddImportCommand},
    {"simulate", "Price a compiled module as it stands, or a program under a mapping",
     AddSimulateCommand},
    {"validate", "Check a mapping against every rule of its program", AddValidateCommand},
    {"corpus", "Describe every captured program of a folder in a Markdown table", AddCorpusCommand},
    {"overrides", "Write the compiler options that ask for a mapping instead of the default",
     AddOverridesCommand},
    {"readback", "Read the placement of a recompiled module in terms of its program",
     AddReadbackCommand},
    {"optimize", "Search for a placement, have it compiled as it stands, and keep the fastest",
     AddOptimizeCommand},
    {"place", "Write a mapping into the compiled module, for the compiler to take as it stands",
     AddPlaceCommand},
    {"play", "Play one game by the actions on stdin; write its observations to stdout",
     AddPlayCommand},
    {"plot", "Draw mappings and the compiler's default: fast memory, copies, HBM bandwidth",
     AddPlotCommand},
    {"explain", "Say which decisions make a mapping faster or slower than another",
     AddExplainCommand},
    {"bench", "Measure a part of the software", AddBenchCommand},
    {"bench game", "Play many games: measure speed and memory, and check returns",
     AddBenchGameCommand},
    {"bench replay", "Measure how fast a replay shard stores and hands out random items", nullptr},
    {"bench search", "Measure the simulations per second of a search with random weights", nullptr},
    {"bench self-play", "Measure whole games against the search alone", nullptr},
    {"bench learner", "Measure the updates per second of a learner, from random batches", nullptr},
    {"bench play", "Play one game of each program with a network alone, without solvers", nullptr},
    {"bench values", "Measure how well a checkpoint's values rank games that it has not seen",
     nullptr},
    {"bench actors", "Load a running cluster as many actors would, without networks", nullptr},
    {"bench serve", "Load a running server with many clients, also with broken requests", nullptr},
    {"map", "Play the game within a time budget and write the best mapping found", AddMapCommand},
    {"train", "Learn to place tensors by playing: self-play and learning on real programs",
     nullptr},
    {"report", "Draw the learning curves of a training run: returns, losses, speed", nullptr},
    {"checkpoints", "List the scored checkpoints of a cluster's run, and pin those to keep",
     nullptr},
    {"dashboard", "Serve a page that shows how a run learns, and its memory maps", nullptr},
    {"export", "Write the networks of a checkpoint as ONNX or TorchScript, for other software",
     nullptr},
    {"fetch", "Fetch an export from object storage and check it against its manifest", nullptr},
    {"replay", "Run a shard of a cluster's replay, or administer running shards", nullptr},
    {"shards", "List the shards of a running cluster, add one, or remove one with its games moved",
     nullptr},
    {"status", "Ask every role of a cluster how it fares and what it waits for", nullptr},
    {"learner", "Run the learner of a cluster; it goes on from its last checkpoint", nullptr},
    {"actor", "Run an actor of a cluster: play with the learner's newest weights", nullptr},
    {"serve", "Find mappings for clients over the network, with shared batches", nullptr},
    {"up", "Run a whole cluster on this machine: start every role, keep them running", nullptr},
    {"launch", "Submit a whole cluster to a batch system", AddLaunchCommand},
    {"launch slurm", "Submit a whole cluster to Slurm, or print what would be submitted", nullptr},
    {"variant", "Write a program as it would be with other fast memory or more layers",
     AddVariantCommand},
    {"compile", "Compile a module with the TPU compiler (libtpu); no TPU is needed",
     AddCompileCommand},
    {"check-placed", "Check that a placed module computes what the original does",
     AddCheckPlacedCommand},
};

// The text before a command's name in the table: "" for a command of the program, "bench " for one
// of `bench`.
std::string Prefix(const CLI::App& parent) {
  return parent.get_parent() == nullptr ? "" : absl::StrCat(parent.get_name(), " ");
}

// The second executable parses the arguments, including --help.
void AddAgentCommand(CLI::App& parent, absl::string_view name, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, name);
  command->set_help_flag();
  command->prefix_command();
  command->callback([&body] { body.needs_agent = true; });
}

}  // namespace

absl::Span<const CommandInfo> CommandTable() { return kCommands; }

CLI::App* AddSubcommand(CLI::App& parent, absl::string_view name) {
  const std::string whole = absl::StrCat(Prefix(parent), name);
  const auto* info = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const CommandInfo& c) { return c.name == whole; });
  assert(info != std::end(kCommands));
  return parent.add_subcommand(std::string(name), info->summary);
}

void AddTableCommands(CLI::App& parent, CommandBody& body) {
  const std::string prefix = Prefix(parent);
  for (const CommandInfo& info : kCommands) {
    const absl::string_view name = info.name;
    const absl::string_view own = name.substr(std::min(prefix.size(), name.size()));
    if (!absl::StartsWith(name, prefix) || own.empty() || absl::StrContains(own, ' ')) continue;
    if (info.add != nullptr) {
      info.add(parent, body);
    } else {
      AddAgentCommand(parent, own, body);
    }
  }
}

void AddAllCommands(CLI::App& app, CommandBody& body) {
  AddTableCommands(app, body);
  AddCompileChildCommand(app, body);
  AddModuleTextCommand(app, body);
}

}  // namespace mallocmuzero::cli
