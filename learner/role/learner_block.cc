#include "learner/role/learner_block.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace mallocmuzero {
namespace {

// After this time without an update the status says what the learner waits for.
constexpr absl::Duration kIdleAfter = absl::Seconds(2);

// A save that takes longer than this counts as a disk that does not answer.
constexpr absl::Duration kSavePatience = absl::Seconds(7);

}  // namespace

LearnerBlock BlockOf(const LearnerSituation& situation, absl::Time now) {
  using On = LearnerBlock::On;
  const TrainingFigures& training = situation.training;
  if (const absl::Status health = DiskHealth(training, now); !health.ok()) {
    return {.on = On::kDisk, .why = std::string(health.message())};
  }
  if (!training.save_error.empty()) {
    return {.on = On::kDisk, .why = absl::StrCat("disk: ", training.save_error)};
  }
  if (now - std::max(training.last_update, situation.started) < kIdleAfter) return {};
  if (!training.group_error.empty()) return {.on = On::kProcesses, .why = training.group_error};
  if (situation.prepared_batches == 0) {
    if (!situation.replay.empty()) {
      // Shards that are reached hold draws back by their rate limits or for the first games.
      return {.on = On::kReplay, .why = situation.replay, .flow_control = situation.shards_reached};
    }
    if (!situation.refusal.empty()) {
      return {.on = On::kGames,
              .why = absl::StrCat("stored games are not of this run: ", situation.refusal)};
    }
    return {.on = On::kBatches, .why = "batches in the making"};
  }
  // A learner of one process is in a long update; it waits for nothing.
  if (situation.processes == 1) return {};
  return {.on = On::kProcesses, .why = "the other learner processes"};
}

absl::Status DiskHealth(const TrainingFigures& training, absl::Time now) {
  const absl::Duration saving = now - training.saving_since;
  if (saving < kSavePatience) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("disk: no answer for ", absl::ToInt64Seconds(saving), " s, while it saves"));
}

}  // namespace mallocmuzero
