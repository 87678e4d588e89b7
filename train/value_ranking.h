// Measures how well a network's values rank games: for pairs of games, whether it predicts the
// better one before their end.

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

// Counts the pairs of `truths` that differ by `least` or more, and the pairs that the predictions
// put in the same order. There is one prediction for each truth; a pair of equal predictions counts
// one half. `right` is the share of all pairs counted so far.
void CountPairs(absl::Span<const double> truths, absl::Span<const double> predictions, double least,
                v1::ValueBenchReport::Ranking& ranking);

struct ValueRankingOptions {
  uint32_t games = 200;  // number of games for each way of exploring
  uint64_t seed = 0;
  uint32_t threads = 1;
  double least_difference = 0.005;  // share of the all-HBM cycles

  // Whether the network's values are ranked (learner.value_target RANKED).
  bool ranked = false;
};

// Plays games of the program by the network's policy, without a search. The games explore 1, 4, 16
// and 64 decisions by turns, as self-play does. Adds to all points and totals of the report.
// `baseline` converts the network's values. If it is null, the baseline is made of the games that
// explore as many decisions as self-play does by default. Ranked values need no baseline and
// predict no return to go. Errors are those of SelfPlay::Create and of OnDevice.
absl::Status RankGames(const PlayedProgram& program,
                       const std::shared_ptr<const NetworkSnapshot>& network,
                       const ReturnBaseline* baseline, const ValueRankingOptions& options,
                       v1::ValueBenchReport& report);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_VALUE_RANKING_H_
