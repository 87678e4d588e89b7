// Handlers for the signals by which a user or a system asks a process to stop.

#ifndef MALLOCMUZERO_BASE_SIGNAL_HANDLERS_H_
#define MALLOCMUZERO_BASE_SIGNAL_HANDLERS_H_

#include <vector>

namespace mallocmuzero {

// Whether this process ignores a signal. May be called between fork and exec.
bool SignalIsIgnored(int signal);

// While an object of this class lives, `handler` is called for SIGTERM, SIGINT and SIGHUP, except
// for those that the process ignored before. These stay ignored: nohup ignores SIGHUP, and a shell
// ignores SIGINT for a job in the background, so that Ctrl-C for another job does not end this one.
// Only one object may live at a time.
class StopSignalHandlers {
 public:
  // `handler` may run on any thread. With `once_for_interrupt` a second SIGINT ends the process.
  StopSignalHandlers(void (*handler)(int), bool once_for_interrupt);

  // Restores the default actions.
  ~StopSignalHandlers();

  StopSignalHandlers(const StopSignalHandlers&) = delete;
  StopSignalHandlers& operator=(const StopSignalHandlers&) = delete;

 private:
  std::vector<int> handled_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_SIGNAL_HANDLERS_H_
