// Shows a search on stderr while it runs, and ends it when the user asks for that.

#ifndef MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_
#define MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_

#include "absl/time/time.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

// On a terminal it updates one line with a bar for the time. Otherwise it prints a line from time
// to time.
class SolveProgressBar {
 public:
  // The line compares the best mapping with `reference_cycles`, unless that is 0.
  SolveProgressBar(absl::Time start, absl::Duration budget, double reference_cycles);

  // Ends the line on a terminal.
  ~SolveProgressBar();

  SolveProgressBar(const SolveProgressBar&) = delete;
  SolveProgressBar& operator=(const SolveProgressBar&) = delete;

  void Show(const SolveProgress& progress);

 private:
  const absl::Time start_;
  const absl::Duration budget_;
  const double reference_cycles_;
  const bool is_terminal_;
  absl::Time next_;
  bool shown_ = false;
};

// While it exists, SIGINT, SIGTERM and SIGHUP set a flag and do not end the process. SIGHUP stays
// ignored if it was, as by nohup. At most one guard may exist.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();

 private:
  bool hangup_ignored_ = false;
};

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_
