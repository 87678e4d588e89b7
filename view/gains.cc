#include "view/gains.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::view {
namespace {

using ProgramMetrics = v1::TrainMetrics::Program;

// True if two entries mean the same program. Either entry may lack the chip.
bool IsSame(const ProgramMetrics& a, const ProgramMetrics& b) {
  const bool same_chip =
      a.hardware() == b.hardware() || a.hardware().empty() || b.hardware().empty();
  return same_chip && a.name() == b.name();
}

// Does what FindProgram does, but fast for many programs of one iteration.
class ProgramIndex {
 public:
  explicit ProgramIndex(const v1::TrainMetrics& metrics) {
    for (const ProgramMetrics& program : metrics.programs())
      by_name_[program.name()].push_back(&program);
  }

  const ProgramMetrics* Find(const ProgramMetrics& program) const {
    const auto found = by_name_.find(program.name());
    if (found == by_name_.end()) return nullptr;
    for (const ProgramMetrics* candidate : found->second) {
      if (IsSame(*candidate, program)) return candidate;
    }
    return nullptr;
  }

 private:
  // for each name one program of each chip
  absl::flat_hash_map<absl::string_view, std::vector<const ProgramMetrics*>> by_name_;
};

}  // namespace

double CyclesSaved(const ProgramMetrics& program, double value) {
  const double reference = program.has_default_return() ? program.default_return() : 0;
  return 1 - (1 - value) / (1 - reference);
}

const ProgramMetrics* FindProgram(const v1::TrainMetrics& metrics, const ProgramMetrics& program) {
  for (const ProgramMetrics& candidate : metrics.programs()) {
    if (IsSame(candidate, program)) return &candidate;
  }
  return nullptr;
}

const char* ReferenceName(const v1::TrainMetrics& metrics) {
  const auto with_default =
      std::count_if(metrics.programs().begin(), metrics.programs().end(),
                    [](const ProgramMetrics& program) { return program.has_default_return(); });
  return with_default == metrics.programs_size() ? "default"
         : with_default == 0                     ? "all in HBM"
                                                 : "default or all in HBM";
}

const char* ReferenceName(const ProgramMetrics& program) {
  return program.has_default_return() ? "default" : "all in HBM";
}

std::vector<int> ProgramsByGain(const v1::TrainMetrics& metrics) {
  std::vector<int> order(metrics.programs_size());
  std::iota(order.begin(), order.end(), 0);
  // Programs without a game go last, and so does NaN from a damaged file, which would break the
  // order.
  const auto gain = [&](int p) {
    const ProgramMetrics& program = metrics.programs(p);
    const double saved = CyclesSaved(program, program.best_return());
    return !program.has_best_return() || std::isnan(saved)
               ? -std::numeric_limits<double>::infinity()
               : saved;
  };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return gain(a) != gain(b) ? gain(a) > gain(b) : a < b; });
  return order;
}

Gains GainsOf(const ProgramMetrics* found) {
  if (found == nullptr) return {};
  const ProgramMetrics& program = *found;
  const auto percent = [&](bool known, double value) {
    return known ? 100 * CyclesSaved(program, value) : Gains::kUnknown;
  };
  return {.self_play = percent(program.has_mean_return(), program.mean_return()),
          .policy = percent(program.has_policy_return(), program.policy_return()),
          .best = percent(program.has_best_return(), program.best_return()),
          .greedy = percent(true, program.greedy_return())};
}

Gains MeanGains(const v1::TrainMetrics& metrics, const v1::TrainMetrics& last,
                std::vector<double>& self_play) {
  const ProgramIndex index(metrics);
  const bool all_there =
      std::all_of(last.programs().begin(), last.programs().end(),
                  [&](const ProgramMetrics& program) { return index.Find(program) != nullptr; });
  if (!all_there) return {};
  Gains mean = {0, 0, 0, 0};
  self_play.resize(last.programs_size(), Gains::kUnknown);
  const double share = 1.0 / last.programs_size();
  int played = 0;
  for (int p = 0; p < last.programs_size(); ++p) {
    const Gains gains = GainsOf(index.Find(last.programs(p)));
    if (!std::isnan(gains.self_play)) self_play[p] = gains.self_play;
    if (!std::isnan(self_play[p])) {
      mean.self_play += self_play[p];
      ++played;
    }
    mean.policy += share * gains.policy;
    mean.best += share * gains.best;
    mean.greedy += share * gains.greedy;
  }
  mean.self_play = played > 0 ? mean.self_play / played : Gains::kUnknown;
  return mean;
}

double ThinnedOut(const v1::TrainMetrics& before, const v1::TrainMetrics& after, double lines) {
  const auto passed =
      static_cast<double>(after.iteration()) - static_cast<double>(before.iteration());
  return std::max(1.0, passed / lines);
}

}  // namespace mallocmuzero::view
