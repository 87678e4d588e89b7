#include "base/orphan_reaper.h"

#include <unistd.h>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/child_process.h"

namespace mallocmuzero {
namespace {

constexpr pid_t kFirstProcess = 1;
constexpr absl::Duration kInterval = absl::Seconds(1);

}  // namespace

OrphanReaper::OrphanReaper() {
  if (getpid() != kFirstProcess) return;
  thread_ = std::thread([this] {
    while (!stop_.WaitForNotificationWithTimeout(kInterval)) ReapOrphans();
  });
}

OrphanReaper::~OrphanReaper() {
  stop_.Notify();
  if (thread_.joinable()) thread_.join();
}

}  // namespace mallocmuzero
