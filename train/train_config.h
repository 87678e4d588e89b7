// The default settings of `train`, and the check of given ones.

#ifndef MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_
#define MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/train.pb.h"

namespace mallocmuzero {

// The largest demonstration_seconds: a day.
inline constexpr double kMostDemonstrationSeconds = 86400;

// The settings for a network of that size: "tiny", "small" or "base". InvalidArgument for another.
absl::StatusOr<v1::TrainConfig> DefaultTrainConfig(absl::string_view network_size);

// The search of DefaultTrainConfig, which does not depend on the network.
v1::SearchOptions DefaultSearchOptions();

// InvalidArgument, one line that names the field and the allowed values.
absl::Status CheckTrainConfig(const v1::TrainConfig& config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_
