// Keeps a learner's processes together while process 0 saves.

#ifndef MALLOCMUZERO_LEARNER_ROLE_GROUP_KEEPER_H_
#define MALLOCMUZERO_LEARNER_ROLE_GROUP_KEEPER_H_

#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "learner/data_parallel.h"

namespace mallocmuzero {

// The other processes wait for this one before each update, and take it for lost after some seconds
// (DataParallelOptions). While this object lives, a thread of its own tells them again and again
// that this process has no batch. It begins after a second, so that a short save costs nothing.
// Make it only where the next joint call of all processes is an Updater::Agree.
class GroupKeeper {
 public:
  // `group` may be null: then nothing is done. Otherwise nobody else may use it before End.
  explicit GroupKeeper(DataParallel* group);
  ~GroupKeeper();
  GroupKeeper(const GroupKeeper&) = delete;
  GroupKeeper& operator=(const GroupKeeper&) = delete;

  // Call it once. Blocks until the last call to the others is over, and returns the errors of the
  // group.
  absl::Status End();

 private:
  absl::Notification ended_;
  absl::Status status_;  // of the thread, until it has ended
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GROUP_KEEPER_H_
