// Measures the game alone on one core, with a player that always chooses fast memory. Items are
// decisions with two or more legal actions.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/players.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/random_game_program.h"

namespace mallocmuzero {
namespace {

const Program& Resnet50() {
  static const Program* const program =
      new Program(*testing::ImportBundled(MALLOCMUZERO_SOURCE_DIR, "resnet50_b1"));
  return *program;
}

void PlayGames(benchmark::State& state, const Program& program) {
  const ProgramRules rules = ProgramRules::Create(program);
  const Game start(rules);
  Game game = start;
  int64_t decisions = 0;
  for (auto _ : state) {
    game = start;
    while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
    decisions += game.history().size();
  }
  state.SetItemsProcessed(decisions);
  state.counters["decisions_per_game"] = static_cast<double>(game.history().size());
  state.counters["bytes_per_game"] = static_cast<double>(game.MemoryBytes());
}

void GameOnResnet50(benchmark::State& state) { PlayGames(state, Resnet50()); }
BENCHMARK(GameOnResnet50)->Unit(benchmark::kMicrosecond);

// With growing length, items per second must not fall faster than 1 / log(length).
void GameOnLayers(benchmark::State& state) {
  PlayGames(state, testing::LayeredProgram(state.range(0)));
}
BENCHMARK(GameOnLayers)->RangeMultiplier(4)->Range(64, 16384)->Unit(benchmark::kMicrosecond);

// Games of the eager player, each stopped after another multiple of sixteen decisions.
std::vector<Game> Snapshots(const ProgramRules& rules) {
  std::vector<Game> snapshots;
  for (Game game(rules); !game.finished(); game.Apply(EagerAction(game.legal_actions()))) {
    if (game.history().size() % 16 == 0) snapshots.push_back(game);
  }
  return snapshots;
}

void SnapshotOfResnet50(benchmark::State& state) {
  const ProgramRules rules = ProgramRules::Create(Resnet50());
  const std::vector<Game> snapshots = Snapshots(rules);
  Game game = snapshots.back();
  size_t next = 0;
  for (auto _ : state) {
    game = snapshots[next];
    next = (next + 1) % snapshots.size();
    benchmark::DoNotOptimize(game.cycles());
  }
}
BENCHMARK(SnapshotOfResnet50)->Unit(benchmark::kMicrosecond);

void ObservationOfResnet50(benchmark::State& state) {
  const ProgramRules rules = ProgramRules::Create(Resnet50());
  const std::vector<Game> snapshots = Snapshots(rules);
  const ObservationTables tables(rules);
  ObservationWriter writer(tables);
  std::vector<float> row(kObservationSize);
  size_t next = 0;
  for (auto _ : state) {
    writer.Write(snapshots[next], absl::MakeSpan(row));
    next = (next + 1) % snapshots.size();
    benchmark::DoNotOptimize(row.data());
  }
  state.counters["floats"] = static_cast<double>(kObservationSize);
}
BENCHMARK(ObservationOfResnet50)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mallocmuzero
