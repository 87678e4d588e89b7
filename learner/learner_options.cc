// Checks of a learner's options. Without LibTorch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "base/status_macros.h"
#include "learner/learner.h"

namespace mallocmuzero {

absl::Span<const FieldRange> LearnerOptionRanges() {
  static constexpr FieldRange kRanges[] = {
      {"batch_size", 1, 1 << 20},         {"unroll_steps", 0, 64},
      {"samples_per_insert", 1e-6, 1e6},  {"best_share", 0, 1},
      {"learning_rate", 1e-12, 1e3},      {"weight_decay", 0, 1e3},
      {"max_gradient_norm", 1e-12, 1e12}, {"value_weight", 0, 1e6},
      {"reward_weight", 0, 1e6},          {"td_steps", 0, 1 << 20},
      {"consistency_weight", 0, 1e6},     {"ranked_quantile", 0, 1}};
  return kRanges;
}

std::vector<WrongField> WrongLearnerOptions(const v1::LearnerOptions& options) {
  std::vector<WrongField> wrong;
  if (options.consistency_weight() > 0 && options.unroll_steps() == 0) {
    wrong.push_back({"consistency_weight", "0 expected, as unroll_steps is 0"});
  }
  if (!v1::LearnerOptions::ValueTarget_IsValid(options.value_target())) {
    wrong.push_back({"value_target", "RELATIVE or RANKED expected"});
  }
  if (IsRanked(options) && (options.ranked_quantile() == 0 || options.ranked_quantile() == 1)) {
    wrong.push_back({"ranked_quantile", "a share above 0 and below 1 expected"});
  }
  return wrong;
}

absl::Status CheckLearnerOptions(const v1::LearnerOptions& options) {
  MMZ_RETURN_IF_ERROR(FirstWrong(OutOfRange(options, LearnerOptionRanges()), "learner."));
  return FirstWrong(WrongLearnerOptions(options), "learner.");
}

double LearningRate(const v1::LearnerOptions& options, uint64_t step) {
  constexpr double kLeast = 0.01;
  constexpr double kPi = 3.14159265358979323846;
  const double warm =
      std::min(1.0, static_cast<double>(step + 1) / std::max(1U, options.warmup_updates()));
  if (options.decay_updates() == 0) return options.learning_rate() * warm;
  const double done = std::min(1.0, static_cast<double>(step) / options.decay_updates());
  const double left = kLeast + (1 - kLeast) * (1 + std::cos(kPi * done)) / 2;
  return options.learning_rate() * warm * left;
}

bool IsRanked(const v1::LearnerOptions& options) {
  return options.value_target() == v1::LearnerOptions::RANKED;
}

double RankedQuantile(const v1::LearnerOptions& options) {
  return IsRanked(options) ? options.ranked_quantile() : 0;
}

absl::Status CheckValueTarget(const v1::LearnerOptions& options, const v1::NetworkConfig& network) {
  if (!IsRanked(options)) return absl::OkStatus();
  constexpr float kLeastResolution = 4;
  MMZ_RETURN_IF_ERROR(CheckField(network.resolution() >= kLeastResolution, "network.resolution",
                                 "4 or more with learner.value_target RANKED (and network.limit "
                                 "0.25), so that won and lost games average as they are,"));
  return CheckField(network.resolution() * std::expm1(network.limit()) >= 1, "network.limit",
                    "log(1 + 1 / network.resolution) or more with learner.value_target RANKED");
}

}  // namespace mallocmuzero
