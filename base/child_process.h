// A process of our own: started, read, signalled, waited for.

#ifndef MALLOCMUZERO_BASE_CHILD_PROCESS_H_
#define MALLOCMUZERO_BASE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// Tells the supervisor that started this process, if one did, that it is ready. Once.
void NotifyReady();

// The child dies (SIGKILL) with the thread that started it, and is killed and reaped by the
// destructor. It has a process group of its own, so that a terminal's Ctrl-C does not reach it.
// Not thread-safe.
class ChildProcess {
 public:
  // Starts `command` (program and arguments; the program is a path). Internal if it cannot.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // For poll(2): readable when the child has written, when it has ended, when it is ready or will
  // never be.
  int output_fd() const { return output_; }
  int exit_fd() const { return pidfd_; }
  int ready_fd() const { return ready_; }

  // What the child has written to stdout and stderr since the last call, without waiting.
  std::string ReadOutput();

  // Whether NotifyReady was called in it. Once true, ready_fd is -1.
  bool ready();

  void Signal(int signal) const;

  // Whether it has ended; reaps it then. `how` in words: "exited with code 1", "killed by signal 9
  // (Killed)".
  bool HasEnded(std::string& how);

  // As a shell reports it, once it has ended: 128 + signal number if a signal ended it.
  int exit_code() const { return exit_code_; }

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int output_ = -1;
  int ready_ = -1;
  bool is_ready_ = false;
  int exit_code_ = -1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_CHILD_PROCESS_H_
