// Keeps a set of processes running.

#ifndef MALLOCMUZERO_CLUSTER_SUPERVISOR_H_
#define MALLOCMUZERO_CLUSTER_SUPERVISOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "rpc/backoff.h"

namespace mallocmuzero {

// A process to keep running.
struct SupervisedProcess {
  std::string name;  // also names the log file, so it must not contain slashes
  std::vector<std::string> command;

  // Arguments that `command` gets until the process was ready once.
  std::vector<std::string> first_arguments;

  // Processes of a stage start once those of lower stages are ready (NotifyReady), and stop before
  // those of lower stages.
  int stage = 0;

  // Time between SIGTERM and SIGKILL, if it is longer than SupervisorOptions::grace.
  absl::Duration grace = absl::ZeroDuration();
};

struct SupervisorOptions {
  std::vector<SupervisedProcess> processes;

  // The folder where each process's output goes to NAME.log; made if it does not exist.
  std::string log_folder;
  size_t most_log_bytes = size_t{64} << 20;  // of a log file; its predecessor is kept too

  // The time after which the next stage starts even if this one is not ready.
  absl::Duration ready_timeout = absl::Seconds(30);

  // The time between SIGTERM and SIGKILL.
  absl::Duration grace = absl::Seconds(6);

  // The pauses before a process that ended is started again. They begin anew once the process has
  // run for `settled`.
  BackoffOptions backoff = {.initial = absl::Milliseconds(200), .maximum = absl::Seconds(10)};
  absl::Duration settled = absl::Seconds(30);

  // The exit code of bad usage or input, which another start would not change. After this many such
  // exits in a row of a process that was never ready, Run stops everything, or leaves the process
  // out if it came with a later list.
  int hopeless_exit_code = 2;
  int most_hopeless_exits = 3;

  // Called from Run once a second; may be null. If it returns a list, Run starts the processes
  // whose names are new, and stops those whose names are no longer in the list. The others run on
  // as they are. A process whose name comes back while its predecessor stops starts after that.
  std::function<std::optional<std::vector<SupervisedProcess>>()> refresh;

  // Called from Run for each line that a process wrote, without the line's end. Required.
  std::function<void(absl::string_view name, absl::string_view line)> on_line;

  // Called from Run for each message of the supervisor itself. Required.
  std::function<void(LogLevel level, const std::string& text)> on_event;
};

// Create and Run must be called from the same thread, because the processes are killed when the
// thread that started them ends.
class Supervisor {
 public:
  // Opens the log files. Errors name the folder or the file: ResourceExhausted if the disk has no
  // room, else InvalidArgument or NotFound.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Create(SupervisorOptions options);

  // Kills the processes that still run.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts all processes, stage by stage, and restarts those that end. Blocks until `stop_fd` is
  // readable or `deadline` (by SteadyNow) has come, then stops all, stage by stage.
  // FailedPrecondition, also after stopping all, if a process of the first list has made its
  // most_hopeless_exits.
  absl::Status Run(int stop_fd, absl::Time deadline);

  // The number of processes to keep running, of running processes, and of starts beyond the first
  // of each process. May be called from any thread.
  uint32_t processes() const { return processes_; }
  uint32_t running() const { return running_; }
  uint64_t restarts() const { return restarts_; }

 private:
  struct Slot;

  explicit Supervisor(SupervisorOptions options);

  int HighestStage() const;
  absl::Status AddSlot(const SupervisedProcess& process);
  void Refresh();
  void StopUnwanted(absl::Span<const SupervisedProcess> wanted);
  bool StartWanted(absl::Span<const SupervisedProcess> wanted);
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
  int stage_ = -1;  // the highest stage that has been started
  absl::Time stage_deadline_;
  absl::Time refresh_at_ = absl::InfinitePast();
  // The newest list, until all of it is done.
  std::optional<std::vector<SupervisedProcess>> wanted_;
  bool stop_asked_ = false;
  std::string hopeless_;  // which process cannot run and why; empty if all can
  std::atomic<uint32_t> processes_ = 0;
  std::atomic<uint32_t> running_ = 0;
  std::atomic<uint64_t> restarts_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SUPERVISOR_H_
