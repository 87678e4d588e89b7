#include "bench/networks/play_bench.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actor/game_recorder.h"
#include "actor/self_play.h"
#include "base/size32.h"
#include "base/steady_clock.h"
#include "env/game.h"
#include "env/program_set.h"
#include "env/solvers/greedy.h"
#include "env/solvers/program_facts.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network.h"
#include "replay/trajectory_buffer.h"
#include "train/player_pool.h"
#include "train/train_config.h"

namespace mallocmuzero::bench {
namespace {

constexpr uint32_t kMostInFlight = 256;

// Plays one game of each program without exploration. Every decision is searched.
absl::StatusOr<PlayedGames> PlayOneOfEach(const ProgramSet& programs, const Network& network,
                                          uint32_t simulations) {
  v1::SearchOptions options = DefaultSearchOptions();
  options.set_simulations(simulations);
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(options);
  if (!search.ok()) return search.status();
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot = network.Snapshot({});
  if (!snapshot.ok()) return snapshot.status();
  std::vector<GameTask> tasks;
  for (size_t p = 0; p < programs.size(); ++p) {
    tasks.push_back({.program = &programs[p],
                     .id = TrajectoryId(0, 0, p),
                     .searched = simulations > 0 ? 1.0F : 0.0F});
  }
  return PlayOnThreads(tasks, *search, 1, kMostInFlight, *snapshot, 0, nullptr);
}

void Describe(const PlayedProgram& program, const v1::Trajectory& game,
              v1::PlayBenchReport::Program& entry) {
  const double all_hbm = program.rules().all_hbm_cycles();
  const double greedy = PlayGreedy(ProgramFacts(program.rules())).total_return();
  entry.set_program(program.name());
  entry.set_hardware(program.program().hardware().name());
  entry.set_decisions(Size32(game.actions()));
  entry.set_all_hbm_cycles(all_hbm);
  entry.set_greedy_cycles(all_hbm * (1 - greedy));
  entry.set_total_cycles(all_hbm * (1 - TotalReturn(game).share()));
  for (const char action : game.actions()) absl::StrAppend(entry.mutable_actions(), int{action});
  if (!std::isnan(program.default_return())) {
    entry.set_default_cycles(all_hbm * (1 - program.default_return()));
  }
}

}  // namespace

absl::StatusOr<v1::PlayBenchReport> BenchPlay(const ProgramSet& programs, const Network& network,
                                              uint32_t simulations) {
  const absl::Time start = SteadyNow();
  const absl::StatusOr<PlayedGames> played = PlayOneOfEach(programs, network, simulations);
  if (!played.ok()) return played.status();
  v1::PlayBenchReport report;
  report.set_simulations(simulations);
  report.set_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  for (size_t p = 0; p < programs.size(); ++p) {
    Describe(programs[p], played->games[p], *report.add_programs());
  }
  return report;
}

}  // namespace mallocmuzero::bench
