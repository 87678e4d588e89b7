// The cycles that a training run's games save, read from its metrics.

#ifndef MALLOCMUZERO_VIEW_GAINS_H_
#define MALLOCMUZERO_VIEW_GAINS_H_

#include <limits>
#include <vector>

#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::view {

// Cycles saved against the default (CyclesSaved) in one iteration, in percent. NaN if a value is
// unknown.
struct Gains {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  double self_play = kUnknown;
  double policy = kUnknown;
  double best = kUnknown;
  double greedy = kUnknown;
};

// Converts a game's return to the share of the default's cycles that the game saves: 1 - (1 -
// value) / (1 - d), where d is the default's return. If the program has no default, it is the share
// of the all-HBM cycles.
double CyclesSaved(const v1::TrainMetrics::Program& program, double value);

// Finds the same program in another iteration; null if it is not there. Lines of earlier versions
// do not name the chip. Iterations may have different programs, or the same ones in another order.
const v1::TrainMetrics::Program* FindProgram(const v1::TrainMetrics& metrics,
                                             const v1::TrainMetrics::Program& program);

// The gains of a program in one iteration. `found` is null if the iteration does not have the
// program.
Gains GainsOf(const v1::TrainMetrics::Program* found);

// The mean over the programs of `last`, NaN unless the iteration has all of them. An iteration may
// play only some of many programs. `self_play` therefore keeps the latest value of each program,
// and the mean of self-play is over the programs that have been played. Pass the same vector, empty
// at first, for all iterations in their order.
Gains MeanGains(const v1::TrainMetrics& metrics, const v1::TrainMetrics& last,
                std::vector<double>& self_play);

// Names the placement that the gains of these programs are compared with, such as "default".
const char* ReferenceName(const v1::TrainMetrics& metrics);
const char* ReferenceName(const v1::TrainMetrics::Program& program);

// Indices of the programs of an iteration, sorted by the share that their best games save, largest
// first. Programs without a game are last.
std::vector<int> ProgramsByGain(const v1::TrainMetrics& metrics);

// By what figures of the `lines` behind `before`, up to `after`, are to be multiplied so that they
// stand for all iterations between: older lines of a long run are thinned out. 1 or more.
double ThinnedOut(const v1::TrainMetrics& before, const v1::TrainMetrics& after, double lines);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_GAINS_H_
