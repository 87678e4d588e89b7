#include "bench/replay/replay_bench.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/service/testing/durable_storage_fixture.h"

namespace mallocmuzero::bench {
namespace {

using ::testing::StartsWith;

TEST(FolderForItems, IsTheSystemsForTemporaryFilesIfThereIsOne) {
  const char* before = getenv("TMPDIR");
  const std::string restored = before == nullptr ? "/tmp" : before;
  const std::string temporary = ::testing::TempDir();  // looks there, too
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(*FolderForItems("/data"), "/data");
  EXPECT_EQ(FolderForItems("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(FolderForItems("").status().message()),
              StartsWith("--data-dir: a folder expected"));
  setenv("TMPDIR", temporary.c_str(), 1);
  EXPECT_EQ(*FolderForItems(""), temporary);
  setenv("TMPDIR", restored.c_str(), 1);
}

// The inserts that are measured fill the disk after the first number of items. The second number is
// more than it takes.
TEST(BenchReplay, EndsIfTheDiskIsFull) {
  for (const uint64_t items : {5, 500}) {
    // The processes that BenchReplay starts have the limit, too.
    const FileSizeLimit limit(1'000'000);
    const absl::Time start = SteadyNow();
    const absl::StatusOr<v1::ReplayBenchReport> report =
        BenchReplay({.mode = kDurableMode,
                     .items = items,
                     .seconds = 1,
                     .patience_seconds = 1,
                     .data_dir = ::testing::TempDir(),
                     .stop = [=] { return SteadyNow() - start > absl::Seconds(30); }});
    EXPECT_EQ(report.status().code(), absl::StatusCode::kUnavailable) << report.status();
  }
}

}  // namespace
}  // namespace mallocmuzero::bench
