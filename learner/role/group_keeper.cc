#include "learner/role/group_keeper.h"

#include "absl/time/time.h"
#include "learner/updater.h"

namespace mallocmuzero {
namespace {

// The time after which a save is a long one.
constexpr absl::Duration kLongSave = absl::Seconds(1);

// The time between two calls to the others, so that they do nothing else but wait.
constexpr absl::Duration kBetweenCalls = absl::Milliseconds(200);

}  // namespace

GroupKeeper::GroupKeeper(DataParallel* group) {
  if (group == nullptr) return;
  thread_ = std::thread([this, group] {
    absl::Duration wait = kLongSave;
    while (status_.ok() && !ended_.WaitForNotificationWithTimeout(wait)) {
      status_ = Updater::Decline(*group);
      wait = kBetweenCalls;
    }
  });
}

GroupKeeper::~GroupKeeper() {
  if (thread_.joinable()) End().IgnoreError();
}

absl::Status GroupKeeper::End() {
  ended_.Notify();
  if (thread_.joinable()) thread_.join();
  return status_;
}

}  // namespace mallocmuzero
