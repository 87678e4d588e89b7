#include "dashboard/metrics_tail.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

std::string NewFile(const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/metrics_tail_test_", name);
  std::filesystem::remove(path);
  return path;
}

void Append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

TEST(MetricsTail, ReadsWhatIsAppended) {
  const std::string path = NewFile("appended");
  MetricsTail tail(path);
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  EXPECT_TRUE(tail.iterations().empty());
  EXPECT_EQ(tail.changed(), absl::InfinitePast());
  Append(path, "{\"iteration\": 1}\n{\"iteration\": 2}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  ASSERT_EQ(tail.iterations().size(), 2);
  EXPECT_GT(tail.changed(), absl::InfinitePast());
  Append(path, "{\"iteration\": 3}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  ASSERT_EQ(tail.iterations().size(), 3);
  EXPECT_EQ(tail.iterations()[2].iteration(), 3);
}

TEST(MetricsTail, WaitsForTheEndOfALine) {
  const std::string path = NewFile("half");
  MetricsTail tail(path);
  Append(path, "{\"itera");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  EXPECT_TRUE(tail.iterations().empty());
  EXPECT_EQ(tail.damaged_lines(), 0);
  Append(path, "tion\": 7}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  ASSERT_EQ(tail.iterations().size(), 1);
  EXPECT_EQ(tail.iterations()[0].iteration(), 7);
}

TEST(MetricsTail, CountsDamagedLines) {
  const std::string path = NewFile("damaged");
  MetricsTail tail(path);
  Append(path, "{\"iteration\": 1}\nhello\n{\"iteration\": 2}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  EXPECT_EQ(tail.iterations().size(), 2);
  EXPECT_EQ(tail.damaged_lines(), 1);
}

// A run that continues from a checkpoint replaces the file by a shorter one. When the file becomes
// too long, it is replaced by one with fewer lines.
TEST(MetricsTail, StartsAnewWhenTheFileIsReplaced) {
  const std::string path = NewFile("replaced");
  MetricsTail tail(path);
  Append(path, "{\"iteration\": 1}\n{\"iteration\": 2}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  const std::string other = NewFile("replacement");
  Append(other, "{\"iteration\": 1}\n{\"iteration\": 5}\n{\"iteration\": 6}\n");
  std::filesystem::rename(other, path);
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  ASSERT_EQ(tail.iterations().size(), 3);
  EXPECT_EQ(tail.iterations()[1].iteration(), 5);
  std::filesystem::resize_file(path, 17);  // the first line
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  EXPECT_EQ(tail.iterations().size(), 1);
  std::filesystem::remove(path);
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  EXPECT_TRUE(tail.iterations().empty());
}

// A file system may give the number of a removed file to the next one.
TEST(MetricsTail, StartsAnewWhenALongerFileHasTheSameNumber) {
  const std::string path = NewFile("same_number");
  MetricsTail tail(path);
  Append(path, "{\"iteration\": 1}\n{\"iteration\": 2}\n");
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  std::ofstream(path) << "{\"iteration\": 10}\n{\"iteration\": 20}\n{\"iteration\": 30}\n";
  ASSERT_EQ(tail.Refresh(), absl::OkStatus());
  ASSERT_EQ(tail.iterations().size(), 3);
  EXPECT_EQ(tail.iterations()[0].iteration(), 10);
  EXPECT_EQ(tail.damaged_lines(), 0);
}

TEST(MetricsTail, NamesAFileThatItCannotRead) {
  MetricsTail tail(absl::StrCat(::testing::TempDir(), "/metrics_tail_test_folder"));
  std::filesystem::create_directories(::testing::TempDir() + "/metrics_tail_test_folder");
  EXPECT_NE(tail.Refresh().message().find("metrics_tail_test_folder: cannot read"),
            std::string::npos);
}

}  // namespace
}  // namespace mallocmuzero
