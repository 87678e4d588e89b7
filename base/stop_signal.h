// SIGTERM, SIGINT and SIGHUP as something to wait for.

#ifndef MALLOCMUZERO_BASE_STOP_SIGNAL_H_
#define MALLOCMUZERO_BASE_STOP_SIGNAL_H_

#include "absl/time/time.h"

namespace mallocmuzero {

// While it lives, SIGTERM, SIGINT and SIGHUP are noted instead of ending the process; SIGHUP stays
// ignored if it was, as under nohup. A second SIGINT ends the process: someone is in a hurry. One
// at a time.
//
// Handlers, not a signalfd with blocked signals: libraries start threads before main, and those
// would not have the signals blocked.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Readable once a signal has come, for poll(2). Not to be read or closed.
  int fd() const { return fd_; }

  // Waits for a signal; true if one has come.
  bool Wait(absl::Duration timeout) const;

 private:
  int fd_ = -1;
  bool takes_hangup_ = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_STOP_SIGNAL_H_
