#include "base/stop_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/steady_clock.h"

namespace mallocmuzero {
namespace {

// The descriptor that the handler writes to; a signal handler may do little else. It may run on any
// thread.
std::atomic<int> stop_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not take a lock");

void NoteSignal(int) {
  const int saved_errno = errno;
  const uint64_t one = 1;
  // The write could fail only after 2^64 signals.
  [[maybe_unused]] const ssize_t ignored = write(stop_fd, &one, sizeof(one));
  errno = saved_errno;
}

}  // namespace

StopSignal::StopSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  stop_fd = fd_;
  handlers_.emplace(NoteSignal, /*once_for_interrupt=*/true);
}

StopSignal::~StopSignal() {
  handlers_.reset();
  stop_fd = -1;
  close(fd_);
}

bool StopSignal::Wait(absl::Duration timeout) const {
  const absl::Time end = SteadyNow() + timeout;
  while (true) {
    const absl::Duration left = std::clamp(end - SteadyNow(), absl::ZeroDuration(), absl::Hours(1));
    pollfd entry = {.fd = fd_, .events = POLLIN};
    // Rounded up, so that poll does not spin through the last millisecond.
    const int milliseconds = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    if (poll(&entry, 1, milliseconds) > 0) return true;
    if (SteadyNow() >= end) return false;
  }
}

}  // namespace mallocmuzero
