#include "actor/round_pacer.h"

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"

namespace mallocmuzero {
namespace {

// The first round is so short that most of even a small budget is left after it.
constexpr uint64_t kFirstGames = 2;

// Smaller batches cost nearly as much.
constexpr uint64_t kLeastGames = 8;

// The fixed cost of a batch, in games. Measured on llama_8x512_train, one core: 2, 8 and 64 games
// by the policy take 0.14, 0.23 and 1.4 s. Without this constant, estimates from the first round
// would be four times too high.
constexpr double kBatchGames = 8;

// The part of the time left that a kind of round may take that was never measured. A round that is
// not over in time is lost with all its games.
constexpr double kUnmeasuredShare = 0.5;

// A game takes some time, although the clock may not have moved in a short round.
constexpr double kLeastSeconds = 1e-6;

}  // namespace

void RoundPacer::Add(const AgentRound& round, double seconds) {
  ++rounds_;
  Measured& measured = measured_[round.searches ? 1 : 0];
  measured.seconds += std::max(seconds, kLeastSeconds);
  measured.games += static_cast<double>(round.games) + kBatchGames;
}

double RoundPacer::GamesIn(double seconds, bool searches) const {
  const Measured& by_policy = measured_[0];
  double seconds_a_game = by_policy.seconds / by_policy.games;
  if (searches) {
    const Measured& searched = measured_[1];
    if (searched.games > 0) {
      seconds_a_game = searched.seconds / searched.games;
    } else {
      seconds_a_game *= search_cost_;
      seconds *= kUnmeasuredShare;
    }
  }
  return seconds / seconds_a_game - kBatchGames;
}

AgentRound RoundPacer::Next(double seconds) const {
  if (rounds_ == 0) return {.games = kFirstGames};
  for (const bool searches : {true, false}) {
    if (searches && rounds_ % 2 == 0) continue;
    const double games = GamesIn(seconds, searches);
    if (games >= kMostGames) return {kMostGames, searches};
    if (games < kLeastGames) continue;
    const uint64_t whole_games = RoundToZero(games);
    return {whole_games, searches};
  }
  return {};
}

}  // namespace mallocmuzero
