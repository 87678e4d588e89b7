#include "bench/networks/learner_bench.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::bench {
namespace {

using ::testing::HasSubstr;

TEST(LearnerBench, RefusesBatchesThatTakeTooMuchMemory) {
  const absl::StatusOr<v1::LearnerBenchReport> report =
      BenchLearner({.rows = 1U << 16, .unroll_steps = 64, .consistency = true});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(report.status().message()),
      HasSubstr("65536 --rows with 64 steps and --consistency take 194.0 GiB, at most 16.0"));
}

TEST(LearnerBench, MeasuresUpdates) {
  const absl::StatusOr<v1::LearnerBenchReport> report =
      BenchLearner({.rows = 64, .unroll_steps = 1, .seconds = 0.01});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->updates_per_second(), 0);
  EXPECT_GE(report->update_p99_ms(), report->update_p50_ms());
}

}  // namespace
}  // namespace mallocmuzero::bench
