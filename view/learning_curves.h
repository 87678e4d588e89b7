// Draws how a training run went.

#ifndef MALLOCMUZERO_VIEW_LEARNING_CURVES_H_
#define MALLOCMUZERO_VIEW_LEARNING_CURVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::view {

// Most programs that ReturnsSvg shows one by one.
inline constexpr size_t kMostProgramsDrawn = 12;

// A name of a program for titles and tables. It contains the chip, because a run may have the
// program for several chips. `chip` is empty in runs of earlier versions.
std::string NameOnChip(absl::string_view program, absl::string_view chip);

// SVG pages of a run's iterations, in their order. The titles contain the last folders of `run`, a
// path. Without iterations the charts are empty; an iteration that lacks a value makes a gap.
//
// ReturnsSvg: cycles saved by self-play, by the policy with search and by the best game, over time.
// It has a chart for each of the kMostProgramsDrawn programs with the largest gain, and a chart of
// the mean over all programs if there are several. The programs are those of the last iteration;
// the mean begins with the first iteration that has all of them. The curve of self-play continues
// over iterations that did not play the program.
std::string ReturnsSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

// LossesSvg: losses of the heads and error of the values, over updates.
std::string LossesSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

// SpeedSvg: games and simulations per second, rows in a network call, and share of the time that is
// spent playing, over time. A value that no iteration has gets no chart, for example the last two
// in a cluster.
std::string SpeedSvg(absl::string_view run, absl::Span<const v1::TrainMetrics> iterations);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LEARNING_CURVES_H_
