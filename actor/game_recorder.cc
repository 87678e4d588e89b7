#include "actor/game_recorder.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/enums.h"
#include "base/sha256.h"
#include "env/program_rules.h"
#include "env/recorded_incumbent.h"
#include "simulator/core/index_fields.h"

namespace mallocmuzero {

GameRecorder::GameRecorder(const PlayedProgram& program, std::string id,
                           v1::Trajectory::Source source, uint64_t network_step) {
  trajectory_.set_id(std::move(id));
  trajectory_.set_program_sha256(program.sha256());
  trajectory_.set_rules_version(kGameRulesVersion);
  trajectory_.set_source(source);
  trajectory_.set_network_step(network_step);
}

void GameRecorder::Start(const Game& game) {
  trajectory_.set_initial_return(game.initial_return());
}

void GameRecorder::Apply(Game& game, Action action, absl::Span<const float> policy,
                         std::optional<NetworkValue> value) {
  trajectory_.mutable_actions()->push_back(Underlying(action));
  trajectory_.mutable_legal_actions()->push_back(game.legal_actions());
  Append(*trajectory_.mutable_accesses(), game.access());
  trajectory_.add_root_values(value.has_value() ? static_cast<float>(value->value())
                                                : std::numeric_limits<float>::quiet_NaN());
  for (int a = 0; a < kActionCount; ++a) trajectory_.add_policies(policy.empty() ? 0 : policy[a]);
  trajectory_.add_rewards(game.Apply(action));
}

void GameRecorder::NoteOwnDecision() {
  const uint32_t next = trajectory_.accesses_size();
  v1::Trajectory::Window& window = *trajectory_.mutable_window();
  if (window.end() == 0) window.set_begin(next);
  window.set_end(next + 1);
}

void GameRecorder::NoteIncumbent(const ShownIncumbent& shown) {
  v1::Trajectory::Incumbent& incumbent = *trajectory_.mutable_incumbent();
  if (incumbent.leads_size() == 0) {
    incumbent.set_in_fast_memory(FastMemoryBits(shown.in_fast_memory));
    incumbent.set_window_end(shown.window_end.number());
  }
  incumbent.add_leads(shown.lead);
}

std::string TrajectoryId(uint64_t run, uint64_t iteration, uint64_t game) {
  const uint64_t numbers[] = {run, iteration, game};
  return Sha256(absl::string_view(reinterpret_cast<const char*>(numbers), sizeof(numbers)))
      .substr(0, 16);
}

absl::StatusOr<v1::Trajectory> Demonstrate(const PlayedProgram& program, std::string id,
                                           absl::Span<const Action> actions) {
  GameRecorder recorder(program, std::move(id), v1::Trajectory::DEMONSTRATION, 0);
  Game game(program.rules());
  recorder.Start(game);
  for (const Action action : actions) {
    if (game.finished() || !game.IsLegal(action)) break;
    EnumArray<Action, float, kActionCount> policy;
    policy[action] = 1;
    recorder.Apply(game, action, policy.elements);
  }
  if (!game.finished() || game.history().size() != actions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.name(), ": the decisions demonstrated are not a game of it"));
  }
  return std::move(recorder).Finish();
}

}  // namespace mallocmuzero
