#include "env/check/game_bench.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "env/check/game_check.h"
#include "env/game.h"

namespace mallocmuzero {
namespace {

constexpr int kMaxFaults = 10;

using Clock = std::chrono::steady_clock;

class Bench {
 public:
  Bench(const ProgramRules& rules, const GameBenchOptions& options, v1::GameBenchReport& report,
        v1::GameBenchReport::Entry& entry)
      : rules_(rules), options_(options), report_(report), entry_(entry) {}

  void Run(PlayerKind kind, absl::string_view program_name) {
    Player player(kind, options_.seed);
    for (uint64_t g = 0; g < options_.games; ++g) {
      player.StartGame();
      const Clock::time_point start = Clock::now();
      Game game(rules_);
      double sum = game.initial_return();
      while (!game.finished()) sum += game.Apply(player.Choose(game));
      const std::chrono::duration<double> seconds = Clock::now() - start;
      entry_.set_seconds(entry_.seconds() + seconds.count());
      Count(game);
      if (!options_.check) continue;
      const bool validate = g % kGamesPerValidation == 0;
      Check(game, sum, validate ? CheckDepth::kValidity : CheckDepth::kPrice,
            absl::StrCat(program_name, ", ", PlayerName(kind), ", game ", g));
    }
  }

 private:
  void Count(const Game& game) {
    const double value = game.total_return();
    entry_.set_best_return(entry_.games() > 0 ? std::max(entry_.best_return(), value) : value);
    entry_.set_mean_return(entry_.mean_return() +
                           (value - entry_.mean_return()) / (entry_.games() + 1));
    entry_.set_games(entry_.games() + 1);
    entry_.set_decisions(entry_.decisions() + static_cast<double>(game.history().size()));
    entry_.set_bytes_per_game(
        std::max(entry_.bytes_per_game(), static_cast<double>(game.MemoryBytes())));
  }

  void Check(const Game& game, double reward_sum, CheckDepth depth, const std::string& name) {
    const GameCheck check = CheckGame(game, reward_sum, depth);
    entry_.set_simulated_games(entry_.simulated_games() + 1);
    entry_.set_worst_return_error(std::max(entry_.worst_return_error(), check.return_error));
    if (depth == CheckDepth::kValidity) entry_.set_validated_games(entry_.validated_games() + 1);
    entry_.set_violations(entry_.violations() + static_cast<double>(check.violations.size()));
    if (check.ok() || report_.faults_size() >= kMaxFaults) return;
    const std::string message = check.Message();
    report_.add_faults(absl::StrCat(name, ": ", message.substr(0, message.find('\n'))));
  }

  const ProgramRules& rules_;
  const GameBenchOptions& options_;
  v1::GameBenchReport& report_;
  v1::GameBenchReport::Entry& entry_;
};

}  // namespace

void BenchGames(const ProgramRules& rules, PlayerKind player, const GameBenchOptions& options,
                absl::string_view program_name, v1::GameBenchReport& report,
                v1::GameBenchReport::Entry& entry) {
  Bench(rules, options, report, entry).Run(player, program_name);
}

void FinishEntry(v1::GameBenchReport::Entry& entry) {
  if (entry.seconds() > 0) entry.set_decisions_per_second(entry.decisions() / entry.seconds());
}

}  // namespace mallocmuzero
