// How well a network's values rank games: pairs of games, and what it says of them on the way.

#ifndef MALLOCMUZERO_TRAIN_VALUE_RANKING_H_
#define MALLOCMUZERO_TRAIN_VALUE_RANKING_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "env/program_set.h"
#include "learner/return_baseline.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network.h"

namespace mallocmuzero {

// Adds the pairs of `truths` that differ by `least` or more, and how many of them the predictions,
// one a truth, put in the same order; equal predictions count one half. `right` is a share, of all
// pairs counted so far.
void CountPairs(absl::Span<const double> truths, absl::Span<const double> predictions, double least,
                v1::ValueBenchReport::Ranking& ranking);

struct ValueRankingOptions {
  uint32_t games = 200;  // of each way of exploring
  uint64_t seed = 0;
  uint32_t threads = 1;
  double least_difference = 0.005;  // share of the all-HBM cycles

  // Whether the network's values say how whole games compare (learner.value_target RANKED).
  bool ranked = false;
};

// Plays games of the program by the network's policy, without a search, exploring as self-play does
// at 1, 4, 16 and 64 decisions a game in turn, and adds to all points and totals of the report.
// `baseline` is what the network's values are measured by; null: that of the games played which
// explore as many decisions as self-play's default. Ranked values need none, and say nothing of
// what is to go. ResourceExhausted for lack of memory.
absl::Status RankGames(const PlayedProgram& program,
                       const std::shared_ptr<const NetworkSnapshot>& network,
                       const ReturnBaseline* baseline, const ValueRankingOptions& options,
                       v1::ValueBenchReport& report);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_VALUE_RANKING_H_
