// libFuzzer target: any bytes of a program file give a program that can be priced and played, or an
// error of one line.
//
// After a byte 'f', the bytes are those of the file. After any other byte, they are a Program in
// text format, which gets the header and the fingerprint of its content.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/compression.h"
#include "base/message_file.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/observation_layout.h"
#include "env/program_set.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;

// Plays one game, with `choices` as actions, and has its mapping priced and checked.
void Play(const PlayedProgram& played, absl::string_view choices) {
  Game game(played.rules());
  ObservationWriter writer(played.tables());
  std::vector<float> observation(kObservationSize);
  for (size_t i = 0; !game.finished(); ++i) {
    writer.Write(game, absl::MakeSpan(observation));
    for (const float number : observation) Require(std::isfinite(number));
    std::vector<Action> legal;
    for (const Action action : kActions) {
      if (game.IsLegal(action)) legal.push_back(action);
    }
    Require(legal.size() >= 2);
    const auto choice = static_cast<uint8_t>(choices[i % choices.size()]);
    Require(std::isfinite(game.Apply(legal[choice % legal.size()])));
  }
  const Mapping mapping = game.ToMapping();
  // A program can contradict itself: it can give a loop a value that is made behind the loop. Then
  // the mapping of a game need not be valid, and the checker says so.
  for (const Violation& violation : Validate(played.program(), mapping)) {
    CheckError(absl::InvalidArgumentError(violation.message));
  }
  Require(std::isfinite(Simulate(played.program(), mapping).total_cycles));
}

void CheckRead(absl::StatusOr<Program> program, absl::string_view choices) {
  if (!program.ok()) return CheckError(program.status());
  Require(std::isfinite(SimulateAllHbm(*program).total_cycles));
  RequireOk(Program::FromProto(program->proto()).status());
  Play(*PlayedProgram::Create(*std::move(program)), choices);
}

void ReadBytes(absl::string_view bytes) {
  const absl::StatusOr<std::string> content =
      Decompress(std::string(bytes), "fuzz.program", kMostBytes);
  if (!content.ok()) return CheckError(content.status());
  v1::Program proto;
  const absl::Status status = ParseMessage(*content, /*text=*/false, "fuzz.program", proto);
  if (!status.ok()) return CheckError(status);
  CheckRead(Program::FromProto(std::move(proto)), bytes);
}

void ReadText(absl::string_view text) {
  v1::Program proto;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &proto)) return;
  SealProgram(proto);
  CheckRead(Program::FromProto(std::move(proto)), text);
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const google::protobuf::LogSilencer silencer;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 'f' ? mallocmuzero::ReadBytes(bytes) : mallocmuzero::ReadText(bytes);
  return 0;
}
