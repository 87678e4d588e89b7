#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/agent/commands.h"
#include "cli/command_table.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "learner/checkpoint_store.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/checkpoint.pb.h"

namespace mallocmuzero::cli {
namespace {

struct CheckpointsFlags {
  std::string run;
  std::string pin;
  std::string unpin;
  bool json = false;
};

// The step that a flag means: a number, or "best".
absl::StatusOr<uint64_t> ReadStep(absl::string_view flag, const std::string& text,
                                  const RunDirectory& directory) {
  uint64_t step = 0;
  if (absl::SimpleAtoi(text, &step)) return step;
  if (text != "best") {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", text, ": a step or best expected"));
  }
  const std::vector<KeptCheckpoint> kept = ListCheckpoints(directory);
  const KeptCheckpoint* best = FindBest(kept);
  if (best != nullptr) return best->manifest.step();
  return absl::NotFoundError(
      absl::StrCat(flag, ": best: ", directory.path(), " keeps no scored checkpoint yet"));
}

absl::Status Pin(absl::string_view flag, const std::string& text, bool pinned,
                 const RunDirectory& directory) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> step = ReadStep(flag, text, directory);
  if (!step.ok()) return step.status();
  return PinCheckpoint(directory, *step, pinned);
}

v1::CheckpointList Describe(const RunDirectory& directory) {
  v1::CheckpointList list;
  const std::vector<KeptCheckpoint> kept = ListCheckpoints(directory);
  const KeptCheckpoint* best = FindBest(kept);
  for (const KeptCheckpoint& checkpoint : kept) {
    v1::CheckpointList::Entry& entry = *list.add_checkpoints();
    *entry.mutable_manifest() = checkpoint.manifest;
    entry.set_path(checkpoint.path());
    entry.set_pinned(checkpoint.pinned);
    entry.set_best(&checkpoint == best);
  }
  list.set_latest(directory.checkpoint_path());
  return list;
}

std::string ListText(const v1::CheckpointList& list) {
  Table table({{"step", Table::Align::kRight},
               {"score", Table::Align::kRight},
               {"size", Table::Align::kRight},
               {"kept as"},
               {"checkpoint"}});
  for (const v1::CheckpointList::Entry& entry : list.checkpoints()) {
    table.AddRow(
        {absl::StrCat(entry.manifest().step()),
         absl::StrFormat("%.2f %%", 100 * entry.manifest().score()),
         FormatBytes(static_cast<double>(entry.manifest().bytes())),
         absl::StrCat(entry.best() ? "best" : "", entry.best() && entry.pinned() ? ", " : "",
                      entry.pinned() ? "pinned" : ""),
         entry.path()});
  }
  table.AddRow({"latest", "", "", "", list.latest()});
  return table.ToText();
}

absl::StatusOr<ExitCode> RunCheckpoints(const CheckpointsFlags& flags) {
  const absl::StatusOr<RunDirectory> directory = RunDirectory::Open(flags.run);
  if (!directory.ok()) return directory.status();
  absl::Status status = Pin("--pin", flags.pin, true, *directory);
  if (status.ok()) status = Pin("--unpin", flags.unpin, false, *directory);
  if (!status.ok()) return status;
  const v1::CheckpointList list = Describe(*directory);
  return flags.json ? PrintJson(list) : PrintText(ListText(list));
}

}  // namespace

void AddCheckpointsCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "checkpoints");
  const auto flags = std::make_shared<CheckpointsFlags>();
  command
      ->add_option("--run", flags->run, "The folder of a learner's run. It may still be training.")
      ->type_name("RUN")
      ->required();
  command
      ->add_option(
          "--pin", flags->pin,
          "Pins the checkpoint of this step, or the best one, so that it is never removed.")
      ->type_name("STEP|best");
  command
      ->add_option("--unpin", flags->unpin,
                   "Releases a pinned checkpoint, so that it may be removed again.")
      ->type_name("STEP|best");
  AddJsonFlag(*command, "CheckpointList", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunCheckpoints(*flags); }; });
}

}  // namespace mallocmuzero::cli
