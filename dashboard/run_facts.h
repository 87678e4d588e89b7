// Reads the metrics of a run: its curves, the gains of its programs, and whether it learns.

#ifndef MALLOCMUZERO_DASHBOARD_RUN_FACTS_H_
#define MALLOCMUZERO_DASHBOARD_RUN_FACTS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/dashboard.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// Most points of a curve.
inline constexpr size_t kMostPoints = 1000;

// The indices of at most kMostPoints of `count` iterations, evenly spaced, with the last one.
std::vector<size_t> PointsOf(size_t count);

// `value` with eight significant digits, which makes JSON short. Six would be too few: a page
// rounds the result again, to hundredths of a percent.
double Rounded(double value);

// The usual time between two of the latest iterations, in seconds: the median. Empty if there is
// only one iteration.
std::optional<double> UsualInterval(absl::Span<const v1::TrainMetrics> iterations);

v1::DashboardCurves MakeCurves(absl::Span<const v1::TrainMetrics> iterations);

// The gains of one program over time. A name that the last iteration does not have gives empty
// columns. Neither this function nor MakeMeanGains sets local_search.
v1::DashboardGains MakeGains(absl::Span<const v1::TrainMetrics> iterations, absl::string_view chip,
                             absl::string_view program);

// The mean of all programs of the last iteration.
v1::DashboardGains MakeMeanGains(absl::Span<const v1::TrainMetrics> iterations);

// The programs of the last iteration, largest gain first, without versions and local_search.
std::vector<v1::DashboardProgramRow> MakeProgramRows(absl::Span<const v1::TrainMetrics> iterations);

// Sentences that say whether the run learns, how good its best games are, and which half of an
// iteration is slower. `mean` is the result of MakeMeanGains.
std::vector<v1::DashboardFinding> MakeFindings(absl::Span<const v1::TrainMetrics> iterations,
                                               const v1::DashboardGains& mean);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_RUN_FACTS_H_
