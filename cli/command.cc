#include "cli/command.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/enums.h"
#include "base/file_io.h"
#include "base/log.h"
#include "base/size32.h"
#include "base/utf8.h"
#include "build_info.h"

namespace mallocmuzero::cli {
namespace {

// A message may have a name from a file, which may have megabytes.
constexpr size_t kMostErrorBytes = 4096;

// Prints one line even if `message` contains line breaks, so that a caller can read stderr line by
// line.
void PrintError(std::string_view message) {
  const std::string line = Abridge(WithoutControls(std::string(message)), kMostErrorBytes);
  if (GetLogFormat() == LogFormat::kJson) return Log(LogLevel::kError, "mallocmuzero", line);
  std::fputs(absl::StrCat("mallocmuzero: ", line, "\n").c_str(), stderr);
}

// An empty value is a mistake, such as a shell variable that is not set: it does not stand for the
// default.
void RefuseEmptyValues(CLI::App& command) {
  const CLI::Validator not_empty(
      [](const std::string& text) -> std::string {
        return text.empty() ? "expected a value, found ''" : "";
      },
      /*validator_desc=*/"");
  for (CLI::Option* option : command.get_options()) option->check(not_empty);
  for (CLI::App* subcommand : command.get_subcommands({})) RefuseEmptyValues(*subcommand);
}

std::string Version() {
  const absl::string_view commit = *kGitCommit == '\0' ? "unknown" : kGitCommit;
  return absl::StrCat("mallocmuzero ", kVersion, " (commit ", commit, ")");
}

// Says that no command or flag has the name of a word; "" if all words have their place. CLI11
// looks first for what is missing, which may be the flag that is mistyped, and for --help.
std::string UnexpectedWord(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> left = app.remaining(/*recurse=*/true);
  left.erase(std::remove(left.begin(), left.end(), "--"), left.end());
  if (left.empty()) return "";
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  if (chosen->get_require_subcommand_min() > 0) {
    const std::string where = chosen == &app ? "" : absl::StrCat(chosen->get_name(), ": ");
    return absl::StrCat(where, "there is no '", left.front(), "'");
  }
  if (error.get_exit_code() == 0) return "";
  return absl::StrCat("'", left.front(), "' was not expected");
}

// The text of an error, in the words of other errors of flags.
std::string TextOf(const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() != "ArgumentMismatch") return text;
  const std::vector<std::string> repeated =
      absl::StrSplit(text, ": At Most 1 required but received ");
  if (repeated.size() == 2) {
    return absl::StrCat(repeated[0], ": expected once, found ", repeated[1], " times");
  }
  return absl::StrReplaceAll(text,
                             {{": 1 required ", ": expected "}, {" missing", ", found none"}});
}

// The name of the chosen subcommand, such as "bench replay".
std::string ChosenCommand(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* chosen = &app; !chosen->get_subcommands().empty();) {
    chosen = chosen->get_subcommands().front();
    names.push_back(chosen->get_name());
  }
  return absl::StrJoin(names, " ");
}

// --help and --version arrive here too, as errors with exit code 0.
ExitCode ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::string unexpected = UnexpectedWord(app, error);
  if (error.get_exit_code() != 0 || !unexpected.empty()) {
    const std::string chosen = ChosenCommand(app);
    PrintError(absl::StrCat(unexpected.empty() ? TextOf(error) : unexpected, " (mallocmuzero ",
                            chosen, chosen.empty() ? "" : " ", "--help shows the usage)"));
    return ExitCode::kBadInput;
  }
  std::ostringstream out;
  std::ostringstream unused_errors;
  app.exit(error, out, unused_errors);
  std::fputs(out.str().c_str(), stdout);
  return ExitCode::kSuccess;
}

// Hands over to the other executable if `body` asks for it. Returns OK if this process should go on
// by itself.
absl::Status HandOver(const CommandLine& line, const CommandBody& body, const char* const* argv) {
  if (line.hand_over == nullptr || !body.needs_agent) return absl::OkStatus();
  return line.hand_over(argv);
}

ExitCode ParseAndRun(const CommandLine& line, int argc, const char* const* argv) {
  CLI::App app(
      "Finds better places for the tensors of a compiled XLA program in the memories of a TPU.",
      "mallocmuzero");
  app.set_version_flag("--version", Version());
  app.require_subcommand(1);
  app.footer(
      "`mallocmuzero help COMMAND` shows the usage of a command.\n"
      "Exit codes: 0 success, 1 failure or an invalid mapping, 2 bad usage or input.");
  CommandBody body;
  line.add_commands(app, body);
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  const absl::Status handed_over = HandOver(line, body, argv);
  if (!handed_over.ok()) {
    PrintError(absl::StrCat(ChosenCommand(app), ": ", handed_over.message()));
    return ExitCodeOf(handed_over);
  }
  const absl::StatusOr<ExitCode> code = body.run();
  if (code.ok()) return *code;
  PrintError(std::string_view(code.status().message().data(), code.status().message().size()));
  return ExitCodeOf(code.status());
}

}  // namespace

absl::Status OutputError(const absl::Status& status) {
  return absl::InternalError(status.message());
}

absl::Status CheckOutputIsNotRead(const std::string& output, absl::Span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!std::filesystem::equivalent(output, input, error)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(output, ": would be written over ", input, ", which is read"));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputHasPlace(const std::string& output) {
  if (output.empty()) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(
        absl::StrCat(output, ": cannot write: no folder '", folder.string(), "'"));
  }
  if (!std::filesystem::is_directory(output, error)) return CheckCanWrite(output);
  return absl::FailedPreconditionError(
      absl::StrCat(output, ": cannot write: a folder; a file expected"));
}

absl::Status CheckIsSvgName(const std::string& output) {
  const std::filesystem::path path(output);
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  for (const char* other : {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"}) {
    if (extension != other) continue;
    return absl::InvalidArgumentError(absl::StrCat(output, ": pictures are SVG; a name such as ",
                                                   path.stem().string(), ".svg expected"));
  }
  return absl::OkStatus();
}

std::filesystem::path WholePath(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      return ExitCode::kBadInput;
    default:
      return ExitCode::kFailure;
  }
}

int RunCommandLine(const CommandLine& line, int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  // `help bench game` stands for `bench game --help`.
  if (words.size() > 1 && std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  words.push_back(nullptr);
  const ExitCode code = ParseAndRun(line, Size32(words) - 1, words.data());
  // Only this flush reports a full disk or a closed pipe.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    PrintError("cannot write to standard output");
    return Underlying(ExitCode::kFailure);
  }
  return Underlying(code);
}

}  // namespace mallocmuzero::cli
