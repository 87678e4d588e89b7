#include "bench/replay/replay_bench.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace mallocmuzero::bench
