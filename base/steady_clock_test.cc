#include "base/steady_clock.h"

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(ClockWatch, TellsByHowMuchTheWallClockWasSetBack) {
  const absl::Time wall = absl::FromUnixSeconds(1'000'000);
  const absl::Time steady = absl::FromUnixSeconds(50);
  ClockWatch watch(wall, steady);
  // One second passes on both clocks.
  EXPECT_EQ(watch.NoteSetBack(wall + absl::Seconds(1), steady + absl::Seconds(1)),
            absl::ZeroDuration());
  // One second passes, and the wall clock is set back by an hour.
  EXPECT_EQ(watch.NoteSetBack(wall + absl::Seconds(2) - absl::Hours(1), steady + absl::Seconds(2)),
            absl::Hours(1));
  // It is not set back once more.
  EXPECT_EQ(watch.NoteSetBack(wall + absl::Seconds(3) - absl::Hours(1), steady + absl::Seconds(3)),
            absl::ZeroDuration());
}

TEST(ClockWatch, IgnoresAClockThatIsSetForwards) {
  const absl::Time wall = absl::FromUnixSeconds(1'000'000);
  const absl::Time steady = absl::FromUnixSeconds(50);
  ClockWatch watch(wall, steady);
  EXPECT_EQ(watch.NoteSetBack(wall + absl::Hours(72), steady), absl::ZeroDuration());
}

}  // namespace
}  // namespace mallocmuzero
