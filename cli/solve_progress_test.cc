#include "cli/solve_progress.h"

#include <csignal>

#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

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

}  // namespace
}  // namespace mallocmuzero::cli
