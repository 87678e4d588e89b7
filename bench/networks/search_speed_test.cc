#include "bench/networks/search_speed.h"

#include <cstdint>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network_config.h"

namespace mallocmuzero::bench {
namespace {

using ::testing::HasSubstr;

TEST(SearchSpeed, SaysThatMemoryIsShort) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "sanitizers take more address space than any limit leaves";
#endif
  SearchSpeedOptions options = {.network = *NetworkPreset("tiny"),
                                .evaluation = {},
                                .simulations = 1,
                                .batch = 64,
                                .threads = 1,
                                .seconds = 0.01};
  // The matrix library takes memory of its own at its first product, and tries for ever to get it.
  ASSERT_EQ(MeasureSearchSpeed(options).status(), absl::OkStatus());
  options.batch = 20'000;
  // Observations take 246 MB and what the network makes of them more. At the lower limit there is
  // no room for the trees, at the higher one none for a batch.
  for (const uint64_t megabytes : {100, 350}) {
    const MemoryLimit limit(megabytes * 1'000'000);
    const absl::Status status = MeasureSearchSpeed(options).status();
    EXPECT_FALSE(status.ok()) << megabytes;
    EXPECT_THAT(status.message(), HasSubstr("of searches: ")) << megabytes;
  }
}

}  // namespace
}  // namespace mallocmuzero::bench
