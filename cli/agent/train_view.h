// A training run as people see it: live on stderr, and its results as a table.

#ifndef MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_
#define MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/report.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::cli {

// On a terminal a few lines that are written over; otherwise a line now and then.
class TrainView {
 public:
  TrainView();
  void Show(const v1::TrainMetrics& metrics);

 private:
  const bool is_terminal_;
  absl::Time next_;
  std::string shown_;
};

// What a terminal is sent to have `text` in the place of `before`, which stands above the cursor;
// both consist of whole lines. Lines that are too long are cut off and do not wrap, so that a line
// is one of the screen; behind it lines wrap again.
std::string OverwriteText(absl::string_view before, absl::string_view text);

// What an iteration was like, one line: games, speed, losses, and how the programs stand.
std::string IterationLine(const v1::TrainMetrics& metrics);

// A line a program, at most `most` of them, those with the largest gain first: self-play, policy,
// best, greedy, as cycles saved against the compiler's default, or against everything in HBM where
// there is none.
std::string ProgramLines(const v1::TrainMetrics& metrics, int most);

// The end of a run: a table of programs.
std::string TrainText(const v1::TrainReport& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_TRAIN_VIEW_H_
