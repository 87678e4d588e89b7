// Lets a process wait for SIGTERM, SIGINT and SIGHUP.

#ifndef MALLOCMUZERO_BASE_STOP_SIGNAL_H_
#define MALLOCMUZERO_BASE_STOP_SIGNAL_H_

#include <optional>

#include "absl/time/time.h"
#include "base/signal_handlers.h"

namespace mallocmuzero {

// While an object of this class exists, SIGTERM, SIGINT and SIGHUP are recorded instead of ending
// the process. Ignored ones stay ignored, as under nohup (StopSignalHandlers). A second SIGINT ends
// the process, because the user is in a hurry. Only one object may exist at a time.
//
// Uses handlers instead of a signalfd with blocked signals: libraries start threads before main,
// and those threads would not block the signals.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // For poll(2): readable when a signal has come. Do not read or close it.
  int fd() const { return fd_; }

  // Waits for a signal up to `timeout`. Returns true if one has come, now or before.
  bool Wait(absl::Duration timeout) const;

 private:
  int fd_ = -1;
  std::optional<StopSignalHandlers> handlers_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_STOP_SIGNAL_H_
