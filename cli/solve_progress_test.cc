#include "cli/solve_progress.h"

#include <csignal>
#include <string>

#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(InterruptGuard, NotesAHangupAsItDoesAnInterrupt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_DFL);  // a test in the background of a shell ignores SIGINT
    {
      const InterruptGuard guard;
      EXPECT_FALSE(InterruptGuard::interrupted());
      std::raise(signal);
      EXPECT_TRUE(InterruptGuard::interrupted());
    }
    EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_DFL);
  }
}

TEST(InterruptGuard, LeavesSignalsIgnoredAsNohupAndShellsHaveThem) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_IGN);
    {
      const InterruptGuard guard;
      std::raise(signal);
      EXPECT_FALSE(InterruptGuard::interrupted());
    }
    EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_IGN);
  }
}

// What a bar prints for a search that began ten seconds ago.
std::string Shown(const SolveProgress& progress) {
  ::testing::internal::CaptureStderr();
  SolveProgressBar(SteadyNow() - absl::Seconds(10), absl::Seconds(20), 2e6).Show(progress);
  return ::testing::internal::GetCapturedStderr();
}

TEST(SolveProgressBar, ShowsGamesOnlyIfTheyAreKnown) {
  EXPECT_THAT(Shown({.best_cycles = 1.5e6, .games = 7}),
              EndsWith(" s, 7 games, best 1.500 Mcycles, 25.00 % less than the default\n"));
  EXPECT_THAT(Shown({.best_cycles = 1.5e6, .games = 1}), HasSubstr(" s, 1 game, best "));
  EXPECT_THAT(Shown({.best_cycles = 1.5e6, .games = 123456}), HasSubstr(" s, 123,456 games, "));
  EXPECT_THAT(Shown({.best_cycles = 1.5e6, .games = 0}),
              EndsWith(" s, best 1.500 Mcycles, 25.00 % less than the default\n"));
}

}  // namespace
}  // namespace mallocmuzero::cli
