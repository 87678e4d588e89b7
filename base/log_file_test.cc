#include "base/log_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/testing/full_disk.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() {
    std::remove(path_.c_str());
    std::remove((path_ + ".1").c_str());
  }

  const std::string path_ = ::testing::TempDir() + "/a.log";
};

TEST_F(LogFileTest, TheFileBeforeIsKept) {
  auto file = LogFile::Open(path_, 10);
  ASSERT_TRUE(file.ok()) << file.status();
  file->Append("aaaa\n");
  file->Append("bbbb\n");
  file->Append("cccc\n");
  EXPECT_EQ(ContentOf(path_), "cccc\n");
  EXPECT_EQ(ContentOf(path_ + ".1"), "aaaa\nbbbb\n");
}

TEST_F(LogFileTest, TheFileHasABoundIfTheOneBeforeCannotBeKept) {
  std::filesystem::create_directory(path_ + ".1");
  auto file = LogFile::Open(path_, 10);
  ASSERT_TRUE(file.ok()) << file.status();
  for (const char* text : {"aaaa\n", "bbbb\n", "cccc\n"}) file->Append(text);
  EXPECT_EQ(ContentOf(path_), "cccc\n");
}

TEST_F(LogFileTest, ATextThatIsLongerThanAFileIsCutBetweenLines) {
  auto file = LogFile::Open(path_, 12);
  ASSERT_TRUE(file.ok()) << file.status();
  file->Append("aaaa\nbbbb\ncccc\ndddd\neeee\n");
  EXPECT_EQ(ContentOf(path_), "eeee\n");
  EXPECT_EQ(ContentOf(path_ + ".1"), "cccc\ndddd\n");
}

TEST_F(LogFileTest, ALineThatIsLongerThanAFileIsCut) {
  auto file = LogFile::Open(path_, 4);
  ASSERT_TRUE(file.ok()) << file.status();
  file->Append("aaaabb\n");
  EXPECT_EQ(ContentOf(path_ + ".1"), "aaaa");
  EXPECT_EQ(ContentOf(path_), "bb\n");
}

TEST_F(LogFileTest, ADiskWithoutRoomIsNoMistakeOfTheOperator) {
  const std::string folder = ::testing::TempDir() + "/log_file_full";
  const std::optional<bool> is_right = testing::OnFullDisk(folder, [&folder] {
    return absl::IsResourceExhausted(LogFile::Open(folder + "/a.log", 10).status());
  });
  if (!is_right.has_value()) GTEST_SKIP() << "this process may not mount a disk";
  EXPECT_TRUE(*is_right);
}

}  // namespace
}  // namespace mallocmuzero
