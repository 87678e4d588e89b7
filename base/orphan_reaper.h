// Lets the first process of a container reap the processes that it inherits.

#ifndef MALLOCMUZERO_BASE_ORPHAN_REAPER_H_
#define MALLOCMUZERO_BASE_ORPHAN_REAPER_H_

#include <thread>

#include "absl/synchronization/notification.h"

namespace mallocmuzero {

// In a process with the id 1, the kernel makes every process whose parent has ended a child of this
// process. While an object of this class exists, a thread reaps such processes once a second, so
// that they do not stay as zombies. It leaves the processes of ChildProcess to their owners. In a
// process with another id the object does nothing.
class OrphanReaper {
 public:
  OrphanReaper();
  ~OrphanReaper();
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

 private:
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_ORPHAN_REAPER_H_
