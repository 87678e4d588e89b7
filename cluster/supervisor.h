// Keeps a set of processes running.

#ifndef MALLOCMUZERO_CLUSTER_SUPERVISOR_H_
#define MALLOCMUZERO_CLUSTER_SUPERVISOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "rpc/backoff.h"

namespace mallocmuzero {

struct SupervisedProcess {
  std::string name;  // of its log file too: no slashes
  std::vector<std::string> command;

  // Processes of a stage start once those of lower stages are ready (NotifyReady), and stop before
  // those do.
  int stage = 0;

  // Between SIGTERM and SIGKILL, if that is more than SupervisorOptions::grace.
  absl::Duration grace = absl::ZeroDuration();
};

struct SupervisorOptions {
  std::vector<SupervisedProcess> processes;

  // Each process's output goes to NAME.log there; created if need be.
  std::string log_folder;
  size_t most_log_bytes = size_t{64} << 20;  // of a file; the one before it is kept

  // How long a stage may take until the next one starts all the same.
  absl::Duration ready_timeout = absl::Seconds(30);

  // Between SIGTERM and SIGKILL.
  absl::Duration grace = absl::Seconds(6);

  // Before a process that ended starts again; it begins anew once one has run for `settled`.
  BackoffOptions backoff = {.initial = absl::Milliseconds(200), .maximum = absl::Seconds(10)};
  absl::Duration settled = absl::Seconds(30);

  // Exit code that no other start would change (bad usage or input), and how many of it in a row
  // end everything.
  int hopeless_exit_code = 2;
  int most_hopeless_exits = 3;

  // A line that a process wrote, without its end; called from Run.
  std::function<void(absl::string_view name, absl::string_view line)> on_line;

  // What the supervisor itself has to say; called from Run.
  std::function<void(LogLevel level, const std::string& text)> on_event;
};

// Run and the constructor are for one and the same thread: processes die with it.
class Supervisor {
 public:
  // InvalidArgument if the log folder cannot be written to.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Create(SupervisorOptions options);

  // Kills what still runs.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts all processes, stage by stage, and starts again those that end, until `stop_fd` is
  // readable or `deadline` has come; then stops all, stage by stage. FailedPrecondition, all
  // stopped as well, if a process cannot run at all.
  absl::Status Run(int stop_fd, absl::Time deadline);

  // Any thread: processes that run now, and starts beyond the first of each.
  uint32_t running() const { return running_; }
  uint64_t restarts() const { return restarts_; }

 private:
  struct Slot;

  explicit Supervisor(SupervisorOptions options);

  int HighestStage() const;
  void StartDue();
  void Launch(Slot& slot);
  void StartNextStage();
  void Poll(int stop_fd, absl::Time deadline, bool stopping);
  void ReadFrom(Slot& slot);
  void NoteEnd(Slot& slot, bool stopping);
  void StopStage(int stage);
  absl::Time NextEvent() const;

  const SupervisorOptions options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int stage_ = -1;  // the highest that has been started
  absl::Time stage_deadline_;
  bool stop_asked_ = false;
  std::string hopeless_;  // which process cannot run, and why
  std::atomic<uint32_t> running_ = 0;
  std::atomic<uint64_t> restarts_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SUPERVISOR_H_
