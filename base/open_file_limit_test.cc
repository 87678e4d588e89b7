#include "base/open_file_limit.h"

#include <sys/resource.h>

#include "base/testing/resource_limits.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(OpenFileLimit, IsRaisedAsFarAsTheProcessMay) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t hard = limit.rlim_max;
  const ResourceLimit small(RLIMIT_NOFILE, 200);
  RaiseOpenFileLimit();
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GT(limit.rlim_cur, 200);
  EXPECT_TRUE(limit.rlim_cur == hard || limit.rlim_cur >= 1'000'000) << limit.rlim_cur;
  EXPECT_EQ(limit.rlim_max, hard);
}

}  // namespace
}  // namespace mallocmuzero
