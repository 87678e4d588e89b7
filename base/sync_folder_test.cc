#include "base/sync_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(SyncFolder, SyncsAFolderWithItsFiles) {
  const std::string folder = ::testing::TempDir() + "/sync_folder";
  std::filesystem::create_directories(folder + "/below");
  std::ofstream(folder + "/file") << "text";
  EXPECT_EQ(SyncFolder(folder), absl::OkStatus());
  EXPECT_EQ(SyncFiles(folder), absl::OkStatus());
  std::filesystem::remove_all(folder);
}

TEST(SyncFolder, SaysWhatIsMissing) {
  const absl::Status missing =
      absl::UnavailableError("/no/folder: cannot write to disk: No such file or directory");
  EXPECT_EQ(SyncFolder("/no/folder"), missing);
  EXPECT_EQ(SyncFiles("/no/folder"), missing);
  EXPECT_EQ(SyncFolder("/proc/self/maps"),
            absl::UnavailableError("/proc/self/maps: cannot write to disk: Not a directory"));
}

}  // namespace
}  // namespace mallocmuzero
