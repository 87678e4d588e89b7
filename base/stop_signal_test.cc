#include "base/stop_signal.h"

#include <csignal>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(StopSignal, WaitsForASignalWhateverThreadGetsIt) {
  const StopSignal stop;
  EXPECT_FALSE(stop.Wait(absl::Milliseconds(1)));
  std::thread([] { std::raise(SIGTERM); }).join();
  EXPECT_TRUE(stop.Wait(absl::Minutes(1)));
  // The signal stays recorded.
  EXPECT_TRUE(stop.Wait(absl::ZeroDuration()));
}

TEST(StopSignal, WakesFromAWaitWithoutEnd) {
  std::signal(SIGINT, SIG_DFL);  // a test in the background of a shell ignores it
  const StopSignal stop;
  std::thread signaller([] { std::raise(SIGINT); });
  EXPECT_TRUE(stop.Wait(absl::InfiniteDuration()));
  signaller.join();
}

TEST(StopSignal, AHangupIsAsASignalToStop) {
  {
    const StopSignal stop;
    std::raise(SIGHUP);
    EXPECT_TRUE(stop.Wait(absl::Minutes(1)));
  }
  // The destructor restores the previous handlers.
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_DFL);
}

TEST(StopSignal, LeavesSignalsIgnoredAsNohupAndShellsHaveThem) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(signal, SIG_IGN);
    {
      const StopSignal stop;
      std::raise(signal);
      EXPECT_FALSE(stop.Wait(absl::Milliseconds(1)));
    }
    EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_IGN);
  }
}

TEST(StopSignalDeathTest, ASecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        const StopSignal stop;
        std::raise(SIGINT);
        if (stop.Wait(absl::ZeroDuration())) std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace mallocmuzero
