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
namespace {

// The numbers whose maxima the processes agree on.
struct Agreement {
  double lacks_batch = 1;  // 0 if there is a batch
  double largest_weight = 0;
};

constexpr Agreement kNoBatch;

absl::Status Join(DataParallel& group, Agreement& agreement) {
  double numbers[] = {agreement.lacks_batch, agreement.largest_weight};
  MMZ_RETURN_IF_ERROR(group.Maximum(absl::MakeSpan(numbers)));
  agreement = {.lacks_batch = numbers[0], .largest_weight = numbers[1]};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> Updater::Fetch(absl::Duration timeout) {
  if (!batch_.has_value()) {
    absl::StatusOr<std::optional<LearningBatch>> next = channel_.Next(timeout);
    if (!next.ok()) return next.status();
    batch_ = *std::move(next);
  }
  return batch_.has_value();
}

absl::StatusOr<bool> Updater::Agree(DataParallel* group) {
  Agreement agreement = batch_.has_value()
                            ? Agreement{.lacks_batch = 0, .largest_weight = batch_->LargestWeight()}
                            : kNoBatch;
  if (group != nullptr) MMZ_RETURN_IF_ERROR(Join(*group, agreement));
  largest_weight_ = agreement.largest_weight;
  return agreement.lacks_batch == 0;
}

absl::Status Updater::Decline(DataParallel& group) {
  Agreement agreement = kNoBatch;
  return Join(group, agreement);
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
