#include "base/list_folder.h"

#include <dirent.h>
#include <dlfcn.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/testing/raw_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

// The number of entries that folders give before a read fails.
int g_entries_left = std::numeric_limits<int>::max();

}  // namespace
}  // namespace mallocmuzero

// All reads of folders in this program come here.
extern "C" dirent* readdir(DIR* folder) {
  static const auto own = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (mallocmuzero::g_entries_left-- > 0) return own(folder);
  errno = EIO;
  return nullptr;
}

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NewFolder(const std::string& name) {
  const std::string folder = testing::TemporaryPath("list_folder_test_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(ListFolder, ListsFilesAndFoldersByName) {
  const std::string folder = NewFolder("names");
  std::filesystem::create_directories(folder + "/b/inner");
  testing::WriteRaw(folder + "/c", "");
  testing::WriteRaw(folder + "/a", "");
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries = ListFolder(folder);
  ASSERT_TRUE(entries.ok()) << entries.status();
  std::vector<std::string> paths;
  for (const std::filesystem::directory_entry& entry : *entries) {
    paths.push_back(entry.path().string());
  }
  EXPECT_THAT(paths, ElementsAre(folder + "/a", folder + "/b", folder + "/c"));
  EXPECT_TRUE((*entries)[1].is_directory());
}

TEST(ListFolder, AMissingFolderIsNotFound) {
  const absl::Status status = ListFolder(NewFolder("missing") + "/none").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/none: cannot read this folder: "));
}

TEST(ListFolder, AFolderThatCannotBeReadToItsEndIsAnError) {
  const std::string folder = NewFolder("broken");
  for (const char* name : {"/a", "/b", "/c"}) testing::WriteRaw(folder + name, "");
  // Three of five entries, which include the folder itself and the one that it is in.
  g_entries_left = 3;
  const absl::Status status = ListFolder(folder).status();
  g_entries_left = std::numeric_limits<int>::max();
  EXPECT_EQ(status.message(), folder + ": cannot read this folder: Input/output error");
}

}  // namespace
}  // namespace mallocmuzero
