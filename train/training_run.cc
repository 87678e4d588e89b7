#include "train/training_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/demonstrations.h"
#include "actor/game_recorder.h"
#include "actor/task_maker.h"
#include "base/random.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/thread_count.h"
#include "env/recorded_game.h"
#include "env/solvers/solve.h"
#include "learner/curriculum.h"
#include "learner/run_metrics.h"
#include "train/update_phase.h"

namespace mallocmuzero {
namespace {

// The purposes of random numbers. Each purpose has a sequence of its own in each iteration.
enum Purpose : uint8_t { kGames, kReanalysis, kUpdates, kPrograms };

// The largest number of games that advance together on one thread: enough to fill a batch.
constexpr uint32_t kMaxInFlight = 256;

// The number of games that a share of an iteration's games stands for.
size_t GamesOf(const v1::SelfPlayOptions& options, float share) {
  return std::lround(share * static_cast<float>(options.games_per_iteration()));
}

// Whether a limit is reached that ends Run at once.
bool IsOver(const RunLimits& limits) {
  return (limits.stop && limits.stop()) || SteadyNow() >= limits.deadline;
}

}  // namespace

uint32_t TrainingRun::threads() const { return ThreadCount(config_.self_play().threads()); }

std::mt19937_64 TrainingRun::RandomOf(uint64_t purpose) const {
  std::seed_seq seeds{config_.seed(), config_.seed() >> 32, state_.iteration(), purpose};
  return std::mt19937_64(seeds);
}

bool TrainingRun::IsEvaluation() const {
  return state_.iteration() % config_.evaluation_iterations() == 0;
}

absl::Status TrainingRun::Run(const RunLimits& limits,
                              const std::function<void(const v1::TrainMetrics&)>& on_iteration) {
  if (state_.iteration() == 0) MMZ_RETURN_IF_ERROR(Demonstrate(limits));
  absl::StatusOr<Saved> captured = Capture();
  if (!captured.ok()) return captured.status();
  Saved last = *std::move(captured);
  bool written = false;
  // The last finished iteration is kept, whatever fails after it.
  const auto save_after = [&](const absl::Status& error) {
    if (!written) Save(last).IgnoreError();
    return error;
  };
  while (state_.iteration() < limits.iterations && !IsOver(limits)) {
    v1::TrainMetrics metrics;
    const absl::Time start = SteadyNow();
    const absl::StatusOr<bool> finished = Iterate(limits, metrics);
    if (!finished.ok()) return save_after(finished.status());
    if (!*finished) break;
    state_.set_seconds(state_.seconds() + absl::ToDoubleSeconds(SteadyNow() - start));
    state_.set_iteration(state_.iteration() + 1);
    DescribeTotals(state_, trained_.step(), metrics);
    MMZ_RETURN_IF_ERROR(lock_.Check());
    if (const absl::Status appended = directory_.AppendMetrics(metrics); !appended.ok()) {
      return save_after(appended);
    }
    captured = Capture();
    if (!captured.ok()) return save_after(captured.status());
    last = *std::move(captured);
    written = state_.iteration() % config_.checkpoint_iterations() == 0;
    if (written) MMZ_RETURN_IF_ERROR(Save(last));
    if (on_iteration) on_iteration(metrics);
  }
  saved_updates_ = last.checkpoint.step;
  return written ? absl::OkStatus() : Save(last);
}

absl::Status TrainingRun::Demonstrate(const RunLimits& limits) {
  if (config_.demonstration_seconds() <= 0) return absl::OkStatus();
  for (size_t p = state_.demonstrated_programs(); p < programs_.size(); ++p) {
    const absl::Time start = SteadyNow();
    SolveOptions options;
    options.deadline =
        std::min(limits.deadline, SteadyNow() + absl::Seconds(config_.demonstration_seconds()));
    options.stop = limits.stop;
    options.seed = config_.seed();
    absl::StatusOr<std::vector<v1::Trajectory>> games =
        ShowGames(programs_[p], options, [&](size_t teacher) {
          return TrajectoryId(config_.seed(), 0, p * Teachers().size() + teacher);
        });
    if (!games.ok()) return games.status();
    // Interrupted demonstrations are not kept, as an interrupted iteration is not.
    if (IsOver(limits)) return absl::OkStatus();
    for (size_t t = 0; t < games->size(); ++t) {
      v1::Trajectory& game = (*games)[t];
      records_->NoteGame(game, std::string(Teachers()[t]));
      replay_.Insert(std::make_shared<const v1::Trajectory>(std::move(game)));
    }
    state_.set_demonstrated_programs(p + 1);
    state_.set_seconds(state_.seconds() + absl::ToDoubleSeconds(SteadyNow() - start));
  }
  return absl::OkStatus();
}

std::vector<GameTask> TrainingRun::MakeTasks() {
  const v1::SelfPlayOptions& options = config_.self_play();
  Random seeds(RandomOf(kGames)());
  uint64_t games = 0;
  TaskMaker maker(
      {.explored_decisions = options.explored_decisions(),
       .searched_share = options.searched_share(),
       .searches = config_.search().simulations() > 0},
      [&] { return TrajectoryId(config_.seed(), state_.iteration() + 1, games++); }, seeds);
  const auto incumbent_of = [&](size_t p) -> std::shared_ptr<const IncumbentGame> {
    const ProgramProgress& progress = records_->progress()[p];
    if (options.window_share() == 0 || progress.best_actions.empty()) return nullptr;
    incumbents_.Offer(programs_[p], progress.best_return, progress.best_actions);
    return incumbents_.Find(programs_[p]);
  };
  if (IsEvaluation()) {
    for (size_t p = 0; p < programs_.size(); ++p) {
      maker.AddEvaluation(programs_[p], incumbent_of(p));
    }
  }
  const std::vector<double> weights = ProgramWeights(records_->Standings());
  Random programs(RandomOf(kPrograms)());
  const size_t windows = GamesOf(options, options.window_share());
  for (uint32_t g = 0; g < options.games_per_iteration(); ++g) {
    const size_t p = DrawProgram(weights, programs_.size(), programs);
    std::shared_ptr<const IncumbentGame> incumbent = g < windows ? incumbent_of(p) : nullptr;
    if (incumbent != nullptr) {
      maker.AddWindow(programs_[p], std::move(incumbent));
    } else {
      maker.AddSelfPlay(programs_[p]);
    }
  }
  AddReanalyses(maker);
  return std::move(maker).Take();
}

void TrainingRun::AddReanalyses(TaskMaker& maker) const {
  if (replay_.games() == 0 || config_.search().simulations() == 0) return;
  const v1::SelfPlayOptions& options = config_.self_play();
  std::mt19937_64 random = RandomOf(kReanalysis);
  const size_t again = GamesOf(options, options.reanalysed_share());
  for (size_t i = 0; i < again; ++i) {
    const SharedTrajectory game =
        replay_.game(std::uniform_int_distribution<size_t>(0, replay_.games() - 1)(random));
    maker.AddReanalysis(*programs_.Find(game->program_sha256()), game);
  }
}

absl::StatusOr<bool> TrainingRun::Iterate(const RunLimits& limits, v1::TrainMetrics& metrics) {
  // The batches of these few games are small, and a CPU is done before a GPU has begun.
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> network =
      trained_.network().Snapshot({.device = Device::kCpu});
  if (!network.ok()) return network.status();
  const std::vector<GameTask> tasks = MakeTasks();
  const uint64_t step = trained_.step();
  absl::StatusOr<PlayedGames> played = PlayedGames();
  const auto play = [&] { played = Play(tasks, limits, *network, step, metrics); };
  const auto is_whole = [&] { return played.ok() && played->games.size() == tasks.size(); };
  absl::StatusOr<bool> learned = false;
  v1::TrainMetrics of_learning;  // a message of its own, since two threads must not change one
  if (threads() == 1) {
    play();
    if (is_whole()) learned = Learn(limits, of_learning);
  } else {
    std::thread players(play);
    learned = Learn(limits, of_learning);
    players.join();
  }
  metrics.MergeFrom(of_learning);
  if (!played.ok()) return played.status();
  if (!learned.ok()) return learned.status();
  if (!is_whole() || !*learned) return false;
  const std::vector<std::optional<HbmShare>> means = TakeGames(std::move(played->games), tasks);
  // The games of this iteration were searched by the network of the iteration before. The next ones
  // are searched by the network that has just learned, with the baselines of before the refresh.
  if (trained_.step() > step) learned_baselines_ = records_->baselines();
  records_->Refresh();
  for (v1::TrainMetrics::Program& program : records_->Describe(means)) {
    *metrics.add_programs() = std::move(program);
  }
  metrics.set_replay_games(static_cast<double>(replay_.games()));
  metrics.set_replay_decisions(static_cast<double>(replay_.decisions()));
  return true;
}

absl::StatusOr<PlayedGames> TrainingRun::Play(absl::Span<const GameTask> tasks,
                                              const RunLimits& limits,
                                              const std::shared_ptr<const NetworkSnapshot>& network,
                                              uint64_t network_step,
                                              v1::TrainMetrics& metrics) const {
  const absl::Time start = SteadyNow();
  absl::StatusOr<PlayedGames> played =
      PlayOnThreads(tasks, search_, std::max(1U, threads() - 1), kMaxInFlight, network,
                    network_step, [&] { return IsOver(limits); });
  if (!played.ok()) return played;
  const SelfPlayStats& stats = played->stats;
  const double busy = stats.game_seconds + stats.network_seconds + stats.tree_seconds;
  metrics.set_play_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  metrics.set_searches(static_cast<double>(stats.searches));
  metrics.set_simulations(static_cast<double>(stats.simulations));
  if (stats.batches.batches() == 0) return played;  // stopped before the first batch
  metrics.set_game_share(stats.game_seconds / busy);
  metrics.set_network_share(stats.network_seconds / busy);
  metrics.set_tree_share(stats.tree_seconds / busy);
  metrics.set_batch_fill(static_cast<double>(stats.batches.rows()) /
                         static_cast<double>(stats.batches.batches()));
  return played;
}

// Returns the mean return of the games of self-play of each program that has any.
std::vector<std::optional<HbmShare>> TrainingRun::TakeGames(std::vector<v1::Trajectory> games,
                                                            absl::Span<const GameTask> tasks) {
  std::vector<HbmShare> sums(programs_.size());
  std::vector<int> counts(programs_.size(), 0);
  const size_t evaluations = IsEvaluation() ? programs_.size() : 0;
  for (size_t i = 0; i < games.size(); ++i) {
    const size_t decisions = games[i].actions().size();
    // A game by a network whose outputs are NaN can be neither learned from nor saved.
    const bool valid = CheckTrajectory(*tasks[i].program, games[i]).ok();
    const size_t p = programs_.IndexOf(games[i].program_sha256());
    if (valid) NoteSearchedReturns(learned_baselines_.at(games[i].program_sha256()), games[i]);
    if (tasks[i].again != nullptr) {
      if (valid) replay_.Replace(std::make_shared<const v1::Trajectory>(std::move(games[i])));
      continue;
    }
    const size_t own = OwnDecisions(games[i]);
    if (own == 0) continue;  // the best game once more
    const HbmShare value = TotalReturn(games[i]);
    if (i < evaluations) {
      records_->SetPolicyReturn(p, value);
    } else {
      sums[p] += value;
      ++counts[p];
    }
    records_->NoteGame(games[i], kAgentPlayer);
    records_->AddToBaseline(games[i]);
    state_.set_games(state_.games() + 1);
    state_.set_decisions(state_.decisions() + decisions);
    // A game that alone exceeds the bounds of the store is never drawn.
    if (!valid || !replay_.Insert(std::make_shared<const v1::Trajectory>(std::move(games[i])))) {
      continue;
    }
    state_.set_draws_due(state_.draws_due() +
                         config_.learner().samples_per_insert() * static_cast<double>(own));
  }
  std::vector<std::optional<HbmShare>> means(programs_.size());
  for (size_t p = 0; p < programs_.size(); ++p) {
    if (counts[p] > 0) means[p] = HbmShare(sums[p].share() / counts[p]);
  }
  return means;
}

absl::StatusOr<bool> TrainingRun::Learn(const RunLimits& limits, v1::TrainMetrics& metrics) {
  const absl::Time start = SteadyNow();
  const double batch = config_.learner().batch_size();
  const size_t updates = RoundToZero(state_.draws_due() / batch);
  if (updates == 0 || replay_.games() == 0) return true;
  state_.set_draws_due(state_.draws_due() - static_cast<double>(updates) * batch);
  SetComputeThreads(1);
  std::mt19937_64 random = RandomOf(kUpdates);
  const absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> losses =
      UpdatePhase(config_, *batch_maker_, replay_, trained_.learner()).Run(updates, random, [&] {
        return IsOver(limits);
      });
  if (!losses.ok()) return losses.status();
  if (!losses->has_value()) return false;
  *metrics.mutable_losses() = **losses;
  metrics.set_learn_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  return true;
}

}  // namespace mallocmuzero
