#include "learner/role/learner_rates.h"

#include <map>
#include <string>

#include "absl/time/time.h"

namespace mallocmuzero {
namespace {

// The time that rates are averaged over.
constexpr absl::Duration kWindow = absl::Seconds(10);

}  // namespace

void LearnerRates::Add(const TrainingFigures& training, const ActorTotals& actors, absl::Time now) {
  samples_.push_back({.time = now,
                      .updates = static_cast<double>(training.step),
                      .rows = static_cast<double>(training.rows),
                      .games = actors.games,
                      .decisions = actors.decisions,
                      .drawn = static_cast<double>(training.drawn_ages.positions()),
                      .drawn_age = training.drawn_ages.sum()});
  while (samples_.front().time < now - kWindow) samples_.pop_front();
}

std::map<std::string, double> LearnerRates::Figures() const {
  if (samples_.size() < 2) return {};
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const double seconds = absl::ToDoubleSeconds(last.time - first.time);
  std::map<std::string, double> figures = {
      {"updates_per_second", (last.updates - first.updates) / seconds},
      {"rows_per_second", (last.rows - first.rows) / seconds},
      {"games_per_second", (last.games - first.games) / seconds},
      {"decisions_per_second", (last.decisions - first.decisions) / seconds}};
  if (last.drawn > first.drawn) {
    figures["drawn_age"] = (last.drawn_age - first.drawn_age) / (last.drawn - first.drawn);
  }
  return figures;
}

}  // namespace mallocmuzero
