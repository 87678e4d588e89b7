// Pictures of how a training run went.

#ifndef MALLOCMUZERO_VIEW_LEARNING_CURVES_H_
#define MALLOCMUZERO_VIEW_LEARNING_CURVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::view {

// Programs that ReturnsSvg shows one by one.
inline constexpr size_t kMostProgramsDrawn = 12;

// Share of the default's cycles that a game saves (of the all-HBM cycles where the program has no
// default), given its return: with d the default's return, 1 - (1 - value) / (1 - d).
double CyclesSaved(const v1::TrainMetrics::Program& program, double value);

// Names a program in titles and tables, since it may be there for several chips. `chip` is empty
// where a run of an earlier version did not say.
std::string NameOnChip(absl::string_view program, absl::string_view chip);

// The same program in an iteration; null if it was not there. Lines of earlier versions do not name
// the chip. An iteration may have other programs than the last one, or the same in another order.
const v1::TrainMetrics::Program* FindProgram(const v1::TrainMetrics& metrics,
                                             const v1::TrainMetrics::Program& program);

// Indices of the programs of an iteration by what their best games save, most first and those
// without a game last.
std::vector<int> ProgramsByGain(const v1::TrainMetrics& metrics);

// SVG pages of a run's iterations, in their order; the end of `run`, a path, is named in the
// titles. Each is a page of empty charts if there are no iterations, and an iteration that lacks a
// figure is a gap.
//
// Returns: for the kMostProgramsDrawn programs with most gain, and for the mean of all if there are
// several, cycles saved by self-play, by the policy with search and by the best game, over time.
// The programs are those of the last iteration; the mean begins where all of them are there.
// Self-play goes on over iterations that did not play the program.
std::string ReturnsSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

// Losses of the heads and error of the values, over updates.
std::string LossesSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

// Games and simulations per second, rows a network call, share of the time that is played, over
// time. What no iteration knows, as a cluster's learner does not know the last two, has no chart.
std::string SpeedSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LEARNING_CURVES_H_
