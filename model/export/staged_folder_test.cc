#include "model/export/staged_folder.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StagedFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }
  bool IsEmpty() const { return fs::is_empty(root_); }

  const fs::path root_ = fs::path(::testing::TempDir()) / "staged_folder_test";
};

TEST_F(StagedFolderTest, AppearsWithAllItsFiles) {
  const auto folder = StagedFolder::Create(Path("export/")).value();
  ASSERT_TRUE(folder->Write("samples/a.npy", "a").ok());
  EXPECT_FALSE(fs::exists(Path("export")));
  ASSERT_TRUE(folder->Publish().ok());
  EXPECT_EQ(ReadFile(Path("export/samples/a.npy")).value(), "a");
}

TEST_F(StagedFolderTest, LeavesNothingIfItIsNotPublished) {
  {
    const auto folder = StagedFolder::Create(Path("export")).value();
    ASSERT_TRUE(folder->Write("a", "a").ok());
    EXPECT_FALSE(IsEmpty());
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StagedFolderTest, TakesThePlaceOfAnEmptyFolderOnly) {
  fs::create_directory(Path("empty"));
  EXPECT_TRUE(StagedFolder::Create(Path("empty")).value()->Publish().ok());
  fs::create_directories(Path("full/inside"));
  EXPECT_THAT(std::string(CheckNewFolder(Path("full")).message()), HasSubstr("is not empty"));
  std::ofstream(Path("file")) << "x";
  EXPECT_THAT(std::string(CheckNewFolder(Path("file")).message()), HasSubstr("is no folder"));
  EXPECT_THAT(std::string(CheckNewFolder(Path("none/export")).message()),
              HasSubstr("there is no folder"));
  EXPECT_TRUE(CheckNewFolder("not_yet_there").ok());
}

TEST_F(StagedFolderTest, RefusesAPlaceThatNoFolderCanTake) {
  fs::create_directory(Path("empty"));
  fs::create_directory_symlink("empty", Path("link"));
  EXPECT_THAT(std::string(CheckNewFolder(Path("link")).message()), HasSubstr("is a link"));
  EXPECT_THAT(std::string(CheckNewFolder(Path("link/")).message()), HasSubstr("is a link"));
  for (const char* present : {".", "./", "..", "/"}) {
    EXPECT_FALSE(CheckNewFolder(present).ok()) << present;
  }
}

TEST_F(StagedFolderTest, SaysWhyNothingCanBeWritten) {
  const absl::Status status = StagedFolder::Create("/proc/export").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/export: cannot write here: "));
}

}  // namespace
}  // namespace mallocmuzero
