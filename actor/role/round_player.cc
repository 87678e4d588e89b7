#include "actor/role/round_player.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/game_recorder.h"
#include "env/recorded_game.h"
#include "simulator/core/status_macros.h"

namespace mallocmuzero {
namespace {

// How often something that is waited for is looked for.
constexpr absl::Duration kLook = absl::Milliseconds(50);

constexpr absl::Duration kDrawPatience = absl::Milliseconds(500);

}  // namespace

RoundPlayer::RoundPlayer(const RoundPlayerOptions& options, ActorState& state, ReplayWriter& writer,
                         ReplaySampler* sampler)
    : options_(options),
      state_(state),
      writer_(writer),
      sampler_(sampler),
      random_(options.run + options.thread) {}

RoundPlayer::~RoundPlayer() = default;

absl::Status RoundPlayer::Run(const absl::Notification& stop) {
  SetComputeThreads(1);
  while (!stop.HasBeenNotified()) {
    const absl::Time start = absl::Now();
    const std::optional<RoundInputs> inputs = state_.NextRound(start);
    PlayBlock block;
    std::vector<GameTask> tasks;
    if (!inputs.has_value()) {
      block.on = PlayBlock::On::kLearner;
    } else if (writer_.spooled_bytes() >= options_.spool_bytes) {
      block = SpoolBlock(writer_);
    } else if (writer_.held_back() > options_.most_held_back) {
      block = HeldBackBlock();
    } else {
      MMZ_RETURN_IF_ERROR(PrepareFor(*inputs));
      tasks = sampler_ == nullptr ? NewGames() : StoredGames(block);
    }
    state_.SetBlocked(options_.thread, block);
    if (tasks.empty()) {
      stop.WaitForNotificationWithTimeout(kLook);
      state_.AddSeconds(absl::ToDoubleSeconds(absl::Now() - start), 0);
      continue;
    }
    PlayRound(tasks, stop);
  }
  return absl::OkStatus();
}

absl::Status RoundPlayer::PrepareFor(const RoundInputs& inputs) {
  const bool same =
      play_ != nullptr && inputs.network == inputs_.network && inputs.assigned == inputs_.assigned;
  inputs_ = inputs;
  if (same) return absl::OkStatus();
  play_ = nullptr;  // its memory, before the next one takes as much
  const SearchConfig& search = inputs.assigned->search;
  absl::StatusOr<std::unique_ptr<SelfPlay>> play =
      SelfPlay::Create(search, options_.games, [&inputs](uint32_t slots) {
        return NetworkSnapshot::MakeLatentModel(inputs.network, slots);
      });
  if (!play.ok()) return play.status();
  play_ = *std::move(play);
  return absl::OkStatus();
}

std::vector<GameTask> RoundPlayer::NewGames() {
  const AssignedPrograms& assigned = *inputs_.assigned;
  const bool searches = assigned.assignment.search().simulations() > 0;
  std::vector<GameTask> tasks;
  for (uint32_t g = 0; g < options_.games; ++g) {
    const PlayedProgram& program =
        assigned.programs[DrawProgram(inputs_.program_weights, assigned.programs.size(), random_)];
    tasks.push_back({.program = &program,
                     .id = TrajectoryId(options_.run, options_.thread, games_++),
                     .seed = random_.Next(),
                     .explored = assigned.assignment.explored_decisions() /
                                 static_cast<float>(program.decisions()),
                     .searched = searches ? assigned.assignment.searched_share() : 0});
  }
  return tasks;
}

std::vector<GameTask> RoundPlayer::StoredGames(PlayBlock& why_none) {
  absl::StatusOr<std::vector<SampledPosition>> drawn =
      sampler_->Draw(v1::UNIFORM, options_.games, kDrawPatience);
  if (!drawn.ok()) {
    why_none = {.on = PlayBlock::On::kReplay, .why = std::string(drawn.status().message())};
    return {};
  }
  std::vector<GameTask> tasks;
  absl::flat_hash_set<std::string> ids;
  for (SampledPosition& position : *drawn) {
    const v1::Trajectory& game = *position.trajectory;
    const PlayedProgram* program = inputs_.assigned->programs.Find(game.program_sha256());
    if (program == nullptr || game.network_step() >= inputs_.step ||
        !CheckRecordedGame(*program, game).ok() || !ids.insert(game.id()).second) {
      continue;
    }
    tasks.push_back({.program = program,
                     .id = game.id(),
                     .seed = random_.Next(),
                     .explored = 0,
                     .searched = 1,
                     .again = std::move(position.trajectory)});
  }
  if (tasks.empty()) {
    why_none = {
        .on = PlayBlock::On::kReplay, .why = "no games of older weights", .flow_control = true};
  }
  return tasks;
}

void RoundPlayer::PlayRound(const std::vector<GameTask>& tasks, const absl::Notification& stop) {
  const std::vector<v1::Trajectory> games =
      play_->Play(tasks, inputs_.step, [&stop] { return stop.HasBeenNotified(); });
  const bool is_new = sampler_ == nullptr;
  state_.AddRound(play_->TakeStats(),
                  is_new ? absl::MakeConstSpan(games) : absl::Span<const v1::Trajectory>());
  const absl::Time start = absl::Now();
  for (const v1::Trajectory& game : games) {
    // False only while stopping, or if no shard could ever take it.
    (void)(is_new ? writer_.Write(game) : writer_.Replace(game));
  }
  state_.AddSeconds(0, absl::ToDoubleSeconds(absl::Now() - start));
}

}  // namespace mallocmuzero
