#include "cli/solve_progress.h"

#include <csignal>

#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

TEST(InterruptGuard, NotesAHangupAsItDoesAnInterrupt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    {
      const InterruptGuard guard;
      EXPECT_FALSE(InterruptGuard::interrupted());
      std::raise(signal);
      EXPECT_TRUE(InterruptGuard::interrupted());
    }
    EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_DFL);
  }
}

TEST(InterruptGuard, LeavesAHangupIgnoredAsNohupHasIt) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(InterruptGuard::interrupted());
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

}  // namespace
}  // namespace mallocmuzero::cli
