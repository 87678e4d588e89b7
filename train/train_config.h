// What `train` does unless told otherwise, and what it can be told.

#ifndef MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_
#define MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/train.pb.h"

namespace mallocmuzero {

// For a network of that size ("tiny", "small", "base"). InvalidArgument for another.
absl::StatusOr<v1::TrainConfig> DefaultTrainConfig(absl::string_view network_size);

// Of DefaultTrainConfig, whatever the network.
v1::SearchOptions DefaultSearchOptions();

// InvalidArgument, one line that names the field and what would be right.
absl::Status CheckTrainConfig(const v1::TrainConfig& config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_TRAIN_CONFIG_H_
