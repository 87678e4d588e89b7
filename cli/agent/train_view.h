// A training run as people see it: live on stderr, and its results as a table.

#ifndef MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_
#define MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/run_report.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::cli {

// On a terminal it updates a few lines in place. Otherwise it prints a line from time to time.
class TrainView {
 public:
  TrainView();
  void Show(const v1::TrainMetrics& metrics);

 private:
  const bool is_terminal_;
  absl::Time next_;
  std::string shown_;
};

// The output that replaces `before`, the lines above the cursor, by `text` on a terminal. Both
// consist of whole lines. The terminal cuts long lines off and does not wrap them, so that each
// line takes one line of the screen. Afterwards it wraps again.
std::string OverwriteText(absl::string_view before, absl::string_view text);

// One line about an iteration: games, speed, losses, and the progress of the programs.
std::string IterationLine(const v1::TrainMetrics& metrics);

// One line for each program, at most `most` lines, the largest gain first. A line has the cycles
// that self-play, policy, best and greedy save against the compiler's default, or against
// everything in HBM if the program has no default.
std::string ProgramLines(const v1::TrainMetrics& metrics, int most);

// The results of a run: a table of programs.
std::string TrainText(const v1::TrainReport& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_
