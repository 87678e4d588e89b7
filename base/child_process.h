// Starts a child process, reads its output and waits for it.

#ifndef MALLOCMUZERO_BASE_CHILD_PROCESS_H_
#define MALLOCMUZERO_BASE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mallocmuzero {

// Tells the supervisor of this process, if there is one, that the process is ready. Only the first
// call has an effect.
void NotifyReady();

// Reaps all children that have ended and are not owned by a ChildProcess, such as orphans that the
// kernel has given to process 1. Does not block. Stops early at an ended child of a ChildProcess,
// whose owner must reap it first. Thread-safe.
void ReapOrphans();

// A child process. It is killed (SIGKILL) when the thread that started it ends; the destructor
// kills and reaps it. It has a process group of its own, so that a terminal's Ctrl-C does not reach
// it. Not thread-safe.
class ChildProcess {
 public:
  // Starts `command`: program and arguments; the program must be a path. If this process ignores
  // SIGCHLD, it no longer does so afterwards. Internal if the command cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Descriptors for poll(2), owned by this object. They become readable when the child has written
  // output, when it has ended, and when it is ready or can no longer become ready.
  int output_fd() const { return output_; }
  int exit_fd() const { return exit_; }
  int ready_fd() const { return ready_; }

  // Returns what the child has written to stdout and stderr since the last call. Does not block.
  std::string ReadOutput();

  // True if the child called NotifyReady. After that, ready_fd is -1.
  bool ready();

  // Sends the signal to the child. Does nothing if the child has been reaped.
  void Signal(int signal) const;

  // True if the child has ended; reaps it. Sets `how` to text such as "exited with code 1" or
  // "killed by signal 9 (Killed)".
  bool HasEnded(std::string& how);

  // The exit code as a shell reports it: 128 + signal number if a signal ended the child. Valid
  // only after HasEnded returned true.
  int exit_code() const { return exit_code_; }

 private:
  ChildProcess() = default;
  absl::Status WatchByThread();

  pid_t pid_ = -1;
  int exit_ = -1;
  int output_ = -1;
  int ready_ = -1;
  bool is_ready_ = false;
  int exit_code_ = -1;
  std::thread watcher_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_CHILD_PROCESS_H_
