// Shows a search on stderr while it runs, and ends it when the user asks for that.

#ifndef MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_
#define MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_

#include "absl/time/time.h"
#include "env/solvers/solve.h"

namespace mallocmuzero::cli {

// On a terminal one line that is written over, with a bar for the time; otherwise a line now and
// then.
class SolveProgressBar {
 public:
  // `reference_cycles` is what the best is compared with; 0: nothing.
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

// While it lives, SIGINT, SIGTERM and SIGHUP (unless that was ignored, as by nohup) are noted
// instead of ending the process. One at a time.
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
