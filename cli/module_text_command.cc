#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_io.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "simulator/hlo/read_module.h"

namespace mallocmuzero::cli {
namespace {

// `files` are pairs of a module and the file for its text.
absl::StatusOr<ExitCode> WriteTexts(const std::vector<std::string>& files) {
  if (files.size() % 2 != 0) {
    return absl::InvalidArgumentError("a file for the text of each module expected");
  }
  for (size_t i = 0; i < files.size(); i += 2) {
    absl::StatusOr<std::string> bytes = ReadFile(files[i]);
    if (!bytes.ok()) return bytes.status();
    const absl::StatusOr<std::string> text = hlo::HloTextOf(*std::move(bytes), files[i]);
    if (!text.ok()) return text.status();
    const absl::Status written = WriteFileAtomically(files[i + 1], *text);
    if (!written.ok()) return OutputError(written);
  }
  return ExitCode::kSuccess;
}

}  // namespace

void AddModuleTextCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command =
      app.add_subcommand("module-text", "Writes modules (HloModuleProto) as HLO text")->group("");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("files", *files, "a module and the file for its text, any number of times")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  command->callback([files, &body] { body.run = [files] { return WriteTexts(*files); }; });
}

}  // namespace mallocmuzero::cli
