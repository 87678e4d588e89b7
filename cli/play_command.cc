#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/enums.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/program_inputs.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/play.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {
namespace {

struct PlayFlags {
  std::string program;
  std::string output;
};

// Lines of stdin, without their ends.
class Lines {
 public:
  ~Lines() { std::free(buffer_); }

  // The next line; no line at the end of stdin.
  std::optional<absl::string_view> Next() {
    const ssize_t length = getline(&buffer_, &capacity_, stdin);
    if (length < 0) return std::nullopt;
    return absl::StripAsciiWhitespace(absl::string_view(buffer_, length));
  }

 private:
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
};

absl::Status PrintLine(const v1::PlayLine& line) {
  const absl::StatusOr<std::string> json = MessageToJson(line);
  if (!json.ok()) return json.status();
  std::fputs(absl::StrCat(*json, "\n").c_str(), stdout);
  if (std::fflush(stdout) == 0) return absl::OkStatus();
  return OutputError(absl::UnavailableError("stdout: cannot write"));
}

std::vector<int> NumbersOf(ActionSet legal) {
  std::vector<int> numbers;
  for (const Action action : kActions) {
    if (Contains(legal, action)) numbers.push_back(Underlying(action));
  }
  return numbers;
}

absl::StatusOr<Action> ReadAction(Lines& lines, const Game& game) {
  const std::vector<int> legal = NumbersOf(game.legal_actions());
  const std::string wanted =
      absl::StrCat("one of the legal actions ", absl::StrJoin(legal, ", "), " expected");
  const std::optional<absl::string_view> line = lines.Next();
  const std::string decision = absl::StrCat("stdin: decision ", game.history().size() + 1, ": ");
  if (!line.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(decision, wanted, ", found the end"));
  }
  int number = 0;
  if (absl::SimpleAtoi(*line, &number)) {
    for (const int action : legal) {
      if (action == number) return static_cast<Action>(action);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(decision, wanted, ", found \"", line->substr(0, 20), "\""));
}

v1::PlayLine::Game DescribeGame(const PlayedProgram& program) {
  v1::PlayLine::Game game;
  const double all_hbm = program.rules().all_hbm_cycles();
  game.set_program(program.name());
  game.set_sha256(absl::BytesToHexString(program.sha256()));
  game.set_hardware(program.program().hardware().name());
  game.set_accesses(program.rules().access_count());
  game.set_observation_version(kObservationVersion);
  game.set_all_hbm_cycles(all_hbm);
  if (!std::isnan(program.default_return())) {
    game.set_default_cycles(all_hbm * (1 - program.default_return()));
  }
  return game;
}

void DescribeDecision(const Game& game, ObservationWriter& writer, double reward,
                      v1::PlayLine::Decision& decision) {
  decision.set_access(game.access().number());
  decision.clear_legal();
  for (const int action : NumbersOf(game.legal_actions())) {
    decision.add_legal(action);
  }
  decision.mutable_observation()->Resize(kObservationSize, 0);
  writer.Write(game, absl::MakeSpan(decision.mutable_observation()->mutable_data(),
                                    size_t{kObservationSize}));
  decision.set_reward(reward);
  decision.set_total_return(game.total_return());
}

// Plays `game` to its end: prints decisions and reads actions. Returns the last line to print.
absl::StatusOr<v1::PlayLine> PlayByLines(const PlayedProgram& program, Game& game) {
  Lines lines;
  ObservationWriter writer(program.tables());
  v1::PlayLine line;
  *line.mutable_game() = DescribeGame(program);
  double reward = game.initial_return();
  while (!game.finished()) {
    DescribeDecision(game, writer, reward, *line.mutable_decision());
    MMZ_RETURN_IF_ERROR(PrintLine(line));
    line.clear_game();
    const absl::StatusOr<Action> action = ReadAction(lines, game);
    if (!action.ok()) return action.status();
    reward = game.Apply(*action);
  }
  line.clear_decision();
  v1::PlayLine::End& end = *line.mutable_end();
  end.set_reward(reward);
  end.set_total_return(game.total_return());
  end.set_total_cycles(game.cycles());
  for (const Action action : game.history()) {
    absl::StrAppend(end.mutable_actions(), Underlying(action));
  }
  return line;
}

absl::Status WriteMapping(const std::string& path, const Game& game) {
  if (path.empty()) return absl::OkStatus();
  Mapping mapping = game.ToMapping();
  mapping.solver = "play";
  const absl::Status written = WriteMessage(path, MappingToProto(mapping, game.program()));
  return written.ok() ? written : OutputError(written);
}

absl::StatusOr<ExitCode> RunPlay(const PlayFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, {flags.program}));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  absl::StatusOr<Program> loaded = LoadProgram(flags.program);
  if (!loaded.ok()) return loaded.status();
  const std::unique_ptr<PlayedProgram> program = PlayedProgram::Create(*std::move(loaded));
  Game game(program->rules());
  const absl::StatusOr<v1::PlayLine> end = PlayByLines(*program, game);
  if (!end.ok()) return end.status();
  MMZ_RETURN_IF_ERROR(WriteMapping(flags.output, game));
  MMZ_RETURN_IF_ERROR(PrintLine(*end));
  return ExitCode::kSuccess;
}

}  // namespace

void AddPlayCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "play");
  const auto flags = std::make_shared<PlayFlags>();
  AddProgramFlag(*command, flags->program)->required();
  command
      ->add_option("--output", flags->output,
                   "The mapping file to write at the end of the game. By default none is written.")
      ->type_name("FILE");
  command->footer(
      "Each line on stdout is a JSON object (PlayLine): a decision with its legal actions and its "
      "observation, or the end of the game. The command answers each line on stdin that has the "
      "number of a legal action: 0 Copy, 1 NoCopy, 2 Drop.");
  command->callback([flags, &body] { body.run = [flags] { return RunPlay(*flags); }; });
}

}  // namespace mallocmuzero::cli
