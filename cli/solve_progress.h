// Shows a search on stderr while it runs, and ends it when the user asks for that.

#ifndef MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_
#define MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_

#include "absl/time/time.h"
#include "base/signal_handlers.h"
#include "env/solvers/solve.h"

namespace mallocmuzero::cli {

// On a terminal: one line that is written again and again, with a bar for the time. Otherwise: a
// new line every few seconds.
class SolveProgressBar {
 public:
  // `start` is by SteadyNow. The best is compared with `reference_cycles`; 0: with nothing.
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

// While the guard lives, SIGINT, SIGTERM and SIGHUP set interrupted() instead of ending the
// process. Ignored ones stay ignored, as under nohup (StopSignalHandlers). Only one guard may live
// at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();

 private:
  const StopSignalHandlers handlers_;
};

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_SOLVE_PROGRESS_H_
