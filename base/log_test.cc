#include "base/log.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Log, ALineSaysWhenWhoAndWhat) {
  // 1,000,000,000 seconds after the start of 1970 is 2001-09-09 01:46:40.
  const absl::Time time = absl::FromUnixMillis(1'000'000'000'123);
  EXPECT_EQ(LogLine(time, LogLevel::kWarning, "replay-0", "one\ntwo"),
            "2001-09-09T01:46:40.123Z W replay-0: one two\n");
  EXPECT_EQ(LogLine(time, LogLevel::kInfo, "a", ""), "2001-09-09T01:46:40.123Z I a: \n");
}

}  // namespace
}  // namespace mallocmuzero
