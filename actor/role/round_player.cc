#include "actor/role/round_player.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/demonstrations.h"
#include "actor/game_recorder.h"
#include "actor/task_maker.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "env/recorded_game.h"
#include "env/solvers/solve.h"
#include "replay/trajectory_buffer.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {
namespace {

// The time between two checks for something that the thread waits for.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(50);

constexpr absl::Duration kDrawPatience = absl::Milliseconds(500);

}  // namespace

RoundPlayer::RoundPlayer(const RoundPlayerOptions& options, const Parts& parts)
    : options_(options),
      state_(parts.state),
      candidate_(parts.candidate),
      incumbents_(parts.incumbents),
      writer_(parts.writer),
      sampler_(parts.sampler),
      random_(options.run + options.thread) {}

RoundPlayer::~RoundPlayer() = default;

absl::Status RoundPlayer::Run(const absl::Notification& stop) {
  SetComputeThreads(1);
  while (!stop.HasBeenNotified()) {
    const absl::Time start = SteadyNow();
    PlayBlock block;
    Round round;
    if (const std::optional<RoundInputs> inputs = BeginRound(start, block); inputs.has_value()) {
      const absl::StatusOr<bool> shown = Demonstrate(*inputs->assigned, stop);
      if (!shown.ok()) return shown.status();
      if (*shown) continue;
      absl::StatusOr<Round> next = NextRound(*inputs, block);
      if (!next.ok()) return next.status();
      round = *std::move(next);
    }
    state_.SetBlocked(options_.thread, block);
    if (round.tasks.empty()) {
      stop.WaitForNotificationWithTimeout(kCheckInterval);
      state_.AddSeconds(absl::ToDoubleSeconds(SteadyNow() - start), 0);
      continue;
    }
    MMZ_RETURN_IF_ERROR(PlayRound(round, stop));
  }
  return absl::OkStatus();
}

std::optional<RoundInputs> RoundPlayer::BeginRound(absl::Time now, PlayBlock& why_none) {
  if (!state_.MayBegin(now)) {
    why_none.on = PlayBlock::On::kLearner;
    return std::nullopt;
  }
  if (writer_.spooled_bytes() >= options_.spool_bytes) {
    why_none = SpoolBlock(writer_);
    return std::nullopt;
  }
  if (writer_.held_back() > options_.most_held_back) {
    why_none = HeldBackBlock();
    return std::nullopt;
  }
  std::optional<RoundInputs> inputs = state_.NextRound(now);
  if (!inputs.has_value()) why_none.on = PlayBlock::On::kLearner;
  return inputs;
}

absl::StatusOr<Round> RoundPlayer::NextRound(RoundInputs inputs, PlayBlock& why_none) {
  if (sampler_ != nullptr) {
    if (inputs.assigned->assignment.search().simulations() == 0) {
      why_none = {.on = PlayBlock::On::kLearner,
                  .why = "its search has 0 simulations, so that no game is searched again",
                  .flow_control = true};
      return Round();
    }
    if (draw_pause_.Holds(inputs, SteadyNow())) {
      why_none = NoOlderGamesBlock();
      return Round();
    }
    MMZ_RETURN_IF_ERROR(PrepareFor(inputs));
    return StoredGames(why_none);
  }
  const std::optional<CandidateRound> evaluation =
      candidate_.NextRound(inputs.assigned->assignment.evaluated_share(), options_.games);
  if (evaluation.has_value()) {
    inputs.network = evaluation->network;
    inputs.step = evaluation->candidate.step();
  }
  MMZ_RETURN_IF_ERROR(PrepareFor(inputs));
  return evaluation.has_value() ? EvaluationGames(*evaluation) : NewGames();
}

absl::Status RoundPlayer::PrepareFor(const RoundInputs& inputs) {
  const bool same =
      play_ != nullptr && inputs.network == inputs_.network && inputs.assigned == inputs_.assigned;
  inputs_ = inputs;
  if (same) return absl::OkStatus();
  play_ = nullptr;  // frees its memory before the next one takes as much
  const SearchConfig& search = inputs.assigned->search;
  absl::StatusOr<std::unique_ptr<SelfPlay>> play =
      SelfPlay::Create(search, options_.games, [&inputs](uint32_t slots) {
        return NetworkSnapshot::MakeLatentModel(inputs.network, slots);
      });
  if (!play.ok()) return play.status();
  play_ = *std::move(play);
  return absl::OkStatus();
}

absl::StatusOr<bool> RoundPlayer::Demonstrate(const AssignedPrograms& assigned,
                                              const absl::Notification& stop) {
  if (sampler_ != nullptr) return false;
  const PlayedProgram* program = state_.TakeUndemonstrated(assigned);
  if (program == nullptr) return false;
  state_.SetBlocked(options_.thread, ShowingBlock());
  SolveOptions options;
  options.deadline = SteadyNow() + absl::Seconds(assigned.assignment.demonstration_seconds());
  options.stop = [&stop] { return stop.HasBeenNotified(); };
  options.seed = random_.Next();
  const absl::StatusOr<std::vector<v1::Trajectory>> games = ShowGames(
      *program, options, [&](size_t teacher) { return DemonstrationId(*program, teacher); });
  if (!games.ok()) return games.status();
  // A stop has cut the demonstrations short. They are not reported, so the learner will ask another
  // actor.
  if (stop.HasBeenNotified()) return true;
  for (const v1::Trajectory& game : *games) {
    if (!writer_.Write(game)) return true;
  }
  incumbents_.AddGames(*games);
  state_.AddDemonstrated(program->sha256());
  return true;
}

TaskMaker RoundPlayer::MakeTasks() {
  const v1::Assignment& assignment = inputs_.assigned->assignment;
  return {{.explored_decisions = assignment.explored_decisions(),
           .searched_share = assignment.searched_share(),
           .searches = assignment.search().simulations() > 0},
          [this] { return TrajectoryId(options_.run, options_.thread, games_++); },
          random_};
}

Round RoundPlayer::NewGames() {
  const ProgramSet& programs = inputs_.assigned->programs;
  const float window_share = inputs_.assigned->assignment.window_share();
  TaskMaker maker = MakeTasks();
  for (uint32_t g = 0; g < options_.games; ++g) {
    const PlayedProgram& program =
        programs[DrawProgram(inputs_.program_weights, programs.size(), random_)];
    std::shared_ptr<const IncumbentGame> incumbent;
    if (random_.Unit() < window_share) incumbent = incumbents_.Find(program);
    if (incumbent == nullptr) {
      maker.AddSelfPlay(program);
    } else {
      maker.AddWindow(program, std::move(incumbent));
    }
  }
  return {.tasks = std::move(maker).Take()};
}

Round RoundPlayer::EvaluationGames(const CandidateRound& round) {
  const ProgramSet& programs = inputs_.assigned->programs;
  TaskMaker maker = MakeTasks();
  for (uint32_t g = 0; g < options_.games; ++g) {
    maker.AddEvaluation(programs[(round.first_program + g) % programs.size()]);
  }
  return {.tasks = std::move(maker).Take(), .candidate_sha256 = round.candidate.sha256()};
}

Round RoundPlayer::StoredGames(PlayBlock& why_none) {
  absl::StatusOr<std::vector<DrawnPosition>> drawn =
      sampler_->Draw(v1::UNIFORM, options_.games, kDrawPatience);
  if (!drawn.ok()) {
    why_none = {.on = PlayBlock::On::kReplay,
                .why = std::string(drawn.status().message()),
                .flow_control = AllReached(sampler_->peers())};
    return {};
  }
  TaskMaker maker = MakeTasks();
  absl::flat_hash_set<std::string> ids;
  absl::flat_hash_map<std::string, std::string> shards;
  for (DrawnPosition& position : *drawn) {
    const v1::Trajectory& game = *position.trajectory;
    const PlayedProgram* program = inputs_.assigned->programs.Find(game.program_sha256());
    if (program == nullptr || game.network_step() >= inputs_.step ||
        !CheckRecordedGame(*program, game).ok() || !ids.insert(game.id()).second) {
      continue;
    }
    shards.emplace(game.id(), sampler_->shard_name(position.shard));
    maker.AddReanalysis(*program, std::move(position.trajectory));
  }
  if (maker.tasks().empty()) {
    why_none = NoOlderGamesBlock();
    draw_pause_.Begin(inputs_, SteadyNow());
  }
  return {.tasks = std::move(maker).Take(), .shards = std::move(shards)};
}

absl::Status RoundPlayer::PlayRound(const Round& round, const absl::Notification& stop) {
  absl::StatusOr<std::vector<v1::Trajectory>> played =
      play_->Play(round.tasks, inputs_.step, [&stop] { return stop.HasBeenNotified(); });
  if (!played.ok()) return played.status();
  std::vector<v1::Trajectory> games = *std::move(played);
  const bool is_new = sampler_ == nullptr;
  const bool evaluates = !round.candidate_sha256.empty();
  if (is_new) {
    // A window without decisions leaves the incumbent's game once more.
    std::erase_if(games, [](const v1::Trajectory& game) { return OwnDecisions(game) == 0; });
    incumbents_.AddGames(games);
  }
  if (evaluates) candidate_.AddRound(round.candidate_sha256, games);
  state_.AddRound(play_->TakeStats(), is_new && !evaluates ? absl::MakeConstSpan(games)
                                                           : absl::Span<const v1::Trajectory>());
  const absl::Time start = SteadyNow();
  for (const v1::Trajectory& game : games) {
    // The result is false only during a stop, or for a game that no shard would accept.
    (void)(is_new ? writer_.Write(game) : writer_.Replace(game, round.shards.at(game.id())));
  }
  state_.AddSeconds(0, absl::ToDoubleSeconds(SteadyNow() - start));
  return absl::OkStatus();
}

}  // namespace mallocmuzero
