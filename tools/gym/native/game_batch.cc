#include "tools/gym/native/game_batch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/enums.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "env/observation_layout.h"
#include "env/solvers/plan.h"

namespace mallocmuzero::gym {
namespace {

std::string NamesOf(ActionSet legal) {
  constexpr const char* kNames[kActionCount] = {"0 (Copy)", "1 (NoCopy)", "2 (Drop)"};
  std::vector<const char*> names;
  for (const Action action : kActions) {
    if (Contains(legal, action)) names.push_back(kNames[Underlying(action)]);
  }
  return absl::StrJoin(names, " or ");
}

double GainOf(const Game& game) {
  const Baseline* baseline = game.program().baseline();
  if (baseline == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return baseline->compiled_cycles > 0 ? 1 - game.cycles() / baseline->compiled_cycles : 0;
}

}  // namespace

GameBatch::GameBatch(std::vector<SharedProgram> programs, size_t games, const BatchOptions& options)
    : programs_(std::move(programs)),
      options_(options),
      observation_size_(options.observation == ObservationKind::kBrief ? observation::kBriefSize
                                                                       : kObservationSize),
      pool_(options.threads) {
  starts_.reserve(programs_.size());
  for (const SharedProgram& program : programs_) starts_.emplace_back(program->rules());
  writers_.resize(pool_.threads());
  for (Writers& writers : writers_) {
    writers.reserve(programs_.size());
    for (const SharedProgram& program : programs_) writers.emplace_back(program->tables());
  }
  slots_.assign(games, Slot{.game = starts_.front()});
  arrays_.observations.resize(games * observation_size_);
  arrays_.action_masks.resize(games * kActionCount);
  arrays_.rewards.resize(games);
  arrays_.cycles.resize(games);
  arrays_.gains.resize(games);
  arrays_.terminated.resize(games);
  arrays_.illegal.resize(games);
  for (size_t g = 0; g < games; ++g) Reset(g, 0);
}

void GameBatch::Reset(size_t index, size_t program) { Start(index, program, writers_.front()); }

absl::Status GameBatch::Step(absl::Span<const int64_t> actions) {
  if (!pool_.HasItsThreads()) {
    return absl::FailedPreconditionError(
        "this process is a fork and has no threads of these games: make the environment after the "
        "fork, or with threads=1");
  }
  if (actions.size() != games()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", games(), " actions, one for each game, not ", actions.size()));
  }
  for (size_t g = 0; g < games(); ++g) {
    MMZ_RETURN_IF_ERROR(StatusAt(absl::StrCat("game ", g), Check(g, actions[g])));
  }
  pool_.Run(games(), [&](uint32_t thread, size_t begin, size_t end) {
    Writers& writers = writers_[thread];
    for (size_t g = begin; g < end; ++g) {
      if (slots_[g].game.finished()) {
        Start(g, slots_[g].next_program, writers);
      } else {
        Play(g, static_cast<Action>(actions[g]), writers);
      }
    }
  });
  return absl::OkStatus();
}

absl::Status GameBatch::StepGame(size_t index, int64_t action) {
  if (slots_[index].game.finished()) {
    return absl::FailedPreconditionError("the game is finished: call reset() to start another");
  }
  MMZ_RETURN_IF_ERROR(Check(index, action));
  Play(index, static_cast<Action>(action), writers_.front());
  return absl::OkStatus();
}

Snapshot GameBatch::TakeSnapshot(size_t index) const {
  return {.program = programs_[slots_[index].program], .game = slots_[index].game};
}

absl::Status GameBatch::Restore(size_t index, const Snapshot& snapshot) {
  auto found = std::find(programs_.begin(), programs_.end(), snapshot.program);
  if (found == programs_.end()) {
    found = std::find_if(programs_.begin(), programs_.end(), [&](const SharedProgram& program) {
      return program->sha256() == snapshot.program->sha256();
    });
  }
  if (found == programs_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the snapshot is of the program ",
                                                   snapshot.program->name(),
                                                   ", which this environment does not play"));
  }
  Slot& slot = slots_[index];
  slot.program = slot.next_program = found - programs_.begin();
  // A game refers to the rules of its own program, which only the snapshot keeps.
  slot.game = *found == snapshot.program ? snapshot.game
                                         : PlayActions((*found)->rules(), snapshot.game.history());
  arrays_.rewards[index] = 0;
  arrays_.illegal[index] = 0;
  WriteRow(index, writers_.front());
  return absl::OkStatus();
}

absl::Status GameBatch::Check(size_t index, int64_t action) const {
  if (action < 0 || action >= kActionCount) {
    return absl::InvalidArgumentError(
        absl::StrCat("the action ", action, " does not exist: expected 0, 1 or 2"));
  }
  const Game& game = slots_[index].game;
  if (options_.illegal == IllegalAction::kNearest || game.finished() ||
      game.IsLegal(static_cast<Action>(action))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the action ", action, " is not legal now: expected ", NamesOf(game.legal_actions())));
}

void GameBatch::Play(size_t index, Action action, Writers& writers) {
  Game& game = slots_[index].game;
  const Action taken = Choose(action, game.legal_actions());
  arrays_.illegal[index] = taken != action ? 1 : 0;
  arrays_.rewards[index] = game.Apply(taken);
  WriteRow(index, writers);
}

void GameBatch::Start(size_t index, size_t program, Writers& writers) {
  Slot& slot = slots_[index];
  slot.program = slot.next_program = program;
  slot.game = starts_[program];
  arrays_.rewards[index] = 0;
  arrays_.illegal[index] = 0;
  WriteRow(index, writers);
}

void GameBatch::WriteRow(size_t index, Writers& writers) {
  const Slot& slot = slots_[index];
  const Game& game = slot.game;
  arrays_.cycles[index] = game.cycles();
  arrays_.gains[index] = GainOf(game);
  arrays_.terminated[index] = game.finished() ? 1 : 0;
  for (int a = 0; a < kActionCount; ++a) {
    arrays_.action_masks[index * kActionCount + a] = game.IsLegal(kActions[a]) ? 1 : 0;
  }
  const absl::Span<float> row =
      absl::MakeSpan(arrays_.observations).subspan(index * observation_size_, observation_size_);
  if (game.finished()) {
    std::fill(row.begin(), row.end(), 0.0F);
  } else if (options_.observation == ObservationKind::kBrief) {
    writers[slot.program].WriteBrief(game, row);
  } else {
    writers[slot.program].Write(game, row);
  }
}

}  // namespace mallocmuzero::gym
