// libFuzzer target: whatever a checkpoint says of its run, the run goes on with numbers that can be
// learned from, or says in one line why it cannot.
//
// A byte chooses whether values are ranked, and the number of stored games. A TrainState in text
// format follows. In it, the SHA-256 "p" and "q" stand for those of the programs, and a single mean
// for means of all accesses. The version 1 of the rules stands for the present one.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "learner/role/game_book.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "replay/drawn_position.h"
#include "replay/return_units.h"
#include "replay/trajectory_buffer.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/tiny_programs.h"

namespace mallocmuzero {
namespace {

constexpr int kMostGames = 8;

std::unique_ptr<GameBook> NewBook(bool ranked) {
  return Must(GameBook::Create(TinyPrograms(), /*follows=*/false, ranked ? 0.5 : 0));
}

void CheckBook(const GameBook& book) {
  for (const ProgramStanding& standing : book.Standings()) {
    Require(std::isfinite(standing.best_return.share()));
    Require(std::isfinite(standing.scale.share()) && standing.scale > HbmShare(0));
    Require(!standing.mean_return || std::isfinite(standing.mean_return->share()));
  }
  const std::shared_ptr<const Baselines> baselines = book.baselines();
  for (const auto& [program, baseline] : *baselines) {
    const uint32_t accesses = TinyPrograms().Find(program)->rules().access_count();
    for (uint32_t access = 0; access <= accesses; ++access) {
      Require(std::isfinite(baseline.At(access).share()));
    }
  }
}

void RestoreBook(const v1::TrainState& state, bool ranked) {
  const std::unique_ptr<GameBook> book = NewBook(ranked);
  const absl::Status status = book->RestoreFrom(state);
  if (!status.ok()) return CheckError(status);
  CheckBook(*book);
  // The saved state restores the same book.
  v1::TrainState saved;
  book->SaveTo(saved);
  const std::unique_ptr<GameBook> again = NewBook(ranked);
  RequireOk(again->RestoreFrom(saved));
  v1::TrainState saved_again;
  again->SaveTo(saved_again);
  Require(saved_again.SerializeAsString() == saved.SerializeAsString());
  book->Refresh(1);
  CheckBook(*book);
}

// Restores a buffer of up to kMostGames games of 1, 2, 3, 1, ... decisions.
void RestoreBuffer(const v1::ReplayState& state, int games) {
  v1::ReplayOptions options;
  options.set_max_decisions(12);
  options.set_max_bytes(10000);
  options.set_best_games(1);
  options.set_priority_exponent(0.6F);
  std::vector<SharedTrajectory> stored;
  for (int g = 0; g < games; ++g) {
    v1::Trajectory game;
    game.set_id(std::string(16, static_cast<char>('A' + g)));
    game.set_program_sha256("p");
    game.set_actions(std::string(1 + g % 3, '\0'));
    game.mutable_rewards()->Resize(1 + g % 3, 0.25);
    stored.push_back(std::make_shared<const v1::Trajectory>(std::move(game)));
  }
  TrajectoryBuffer buffer(options);
  const absl::Status status = buffer.Restore(state, stored);
  if (!status.ok()) return CheckError(status);
  std::mt19937_64 random(1);
  for (const auto& draws : {buffer.Draw(20, random), buffer.DrawBest(20, random)}) {
    for (const DrawnPosition& drawn : draws) {
      Require(drawn.position < drawn.trajectory->actions().size());
      Require(drawn.probability > 0 && drawn.probability <= 1 + 1e-9);
    }
  }
  Require(buffer.decisions() <= options.max_decisions());
}

// A single number stands for one for each access and one behind the last.
void Repeat(const PlayedProgram& program, google::protobuf::RepeatedField<double>& numbers) {
  if (numbers.size() != 1) return;
  const double number = numbers[0];  // Resize moves the numbers before it reads its argument
  numbers.Resize(static_cast<int>(program.rules().access_count()) + 1, number);
}

void Complete(v1::TrainState::Program& saved) {
  if (saved.sha256() != "p" && saved.sha256() != "q") return;
  const PlayedProgram& program = TinyPrograms()[saved.sha256() == "p" ? 0 : 1];
  saved.set_sha256(program.sha256());
  Repeat(program, *saved.mutable_baseline()->mutable_mean());
  Repeat(program, *saved.mutable_baseline()->mutable_frozen());
}

void Restore(uint8_t variant, absl::string_view text) {
  v1::TrainState state;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &state)) return;
  if (state.rules_version() == 1) state.set_rules_version(kGameRulesVersion);
  for (v1::TrainState::Program& program : *state.mutable_programs()) Complete(program);
  RestoreBook(state, (variant & 1) != 0);
  RestoreBuffer(state.replay(), variant / 2 % (kMostGames + 1));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const google::protobuf::LogSilencer silencer;
  mallocmuzero::Restore(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
