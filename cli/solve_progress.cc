#include "cli/solve_progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/rounding.h"
#include "base/steady_clock.h"
#include "view/format.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr absl::Duration kTerminalInterval = absl::Milliseconds(100);
constexpr absl::Duration kLogInterval = absl::Seconds(5);

// Set by the signal handler, which may do little else. Threads of a search read it.
std::atomic<int> interrupt_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not take a lock");

void NoteSignal(int signal) { interrupt_signal = signal; }

using SignalHandler = void (*)(int);

// Forgets the signals that came before.
SignalHandler FreshHandler() {
  interrupt_signal = 0;
  return NoteSignal;
}

}  // namespace

SolveProgressBar::SolveProgressBar(absl::Time start, absl::Duration budget, double reference_cycles)
    : start_(start),
      budget_(budget),
      reference_cycles_(reference_cycles),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      next_(start + (is_terminal_ ? absl::ZeroDuration() : kLogInterval)) {}

SolveProgressBar::~SolveProgressBar() {
  if (is_terminal_ && shown_) std::fputs("\n", stderr);
}

void SolveProgressBar::Show(const SolveProgress& progress) {
  const absl::Time now = SteadyNow();
  if (now < next_) return;
  next_ = now + (is_terminal_ ? kTerminalInterval : kLogInterval);
  shown_ = true;
  const double share = std::min(1.0, absl::FDivDuration(now - start_, budget_));
  // A server does not say how many games it has played.
  std::string text = absl::StrCat(
      absl::StrFormat("%3.0f s, ", absl::ToDoubleSeconds(now - start_)),
      progress.games > 0 ? absl::StrCat(view::FormatCounted(progress.games, "game"), ", ") : "",
      "best ", view::FormatCycles(progress.best_cycles));
  if (reference_cycles_ > 0) {
    const double saved = 1 - progress.best_cycles / reference_cycles_;
    absl::StrAppendFormat(&text, ", %.2f %% %s than the default", 100 * std::abs(saved),
                          saved < 0 ? "more" : "less");
  }
  if (!is_terminal_) {
    std::fputs(absl::StrCat("mallocmuzero: ", text, "\n").c_str(), stderr);
    return;
  }
  const int filled = RoundToZero(share * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  std::fputs(absl::StrCat("\r[", bar, "] ", text, "\x1b[K").c_str(), stderr);
}

InterruptGuard::InterruptGuard() : handlers_(FreshHandler(), /*once_for_interrupt=*/false) {}

bool InterruptGuard::interrupted() { return interrupt_signal != 0; }

}  // namespace mallocmuzero::cli
