#include "learner/updater.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "learner/data_parallel.h"

namespace mallocmuzero {

absl::StatusOr<bool> Updater::Fetch(absl::Duration timeout) {
  if (!batch_.has_value()) {
    absl::StatusOr<std::optional<LearningBatch>> next = channel_.Next(timeout);
    if (!next.ok()) return next.status();
    batch_ = *std::move(next);
  }
  return batch_.has_value();
}

absl::StatusOr<bool> Updater::Agree(DataParallel* group) {
  // The first number is 0 if all have a batch.
  double numbers[] = {batch_.has_value() ? 0.0 : 1.0,
                      batch_.has_value() ? batch_->LargestWeight() : 0.0};
  if (group != nullptr) MMZ_RETURN_IF_ERROR(group->Maximum(absl::MakeSpan(numbers)));
  largest_weight_ = numbers[1];
  return numbers[0] == 0;
}

absl::StatusOr<Updater::Done> Updater::Update(DataParallel* group) {
  absl::StatusOr<UpdateResult> result = UpdateFrom(*batch_, largest_weight_, learner_, group);
  if (!result.ok()) return result.status();
  Done done = {.batch = *std::exchange(batch_, std::nullopt), .result = *std::move(result)};
  const auto first = done.result.value_errors.begin();
  const int64_t prioritized = done.batch.prioritized.size();
  channel_.SetPriorities(done.batch.prioritized, std::vector<double>(first, first + prioritized));
  return done;
}

}  // namespace mallocmuzero
