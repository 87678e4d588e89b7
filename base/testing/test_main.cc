// The main function of every test binary. It gives the process a folder for temporary files of its
// own, because ctest runs several tests of one binary at a time, each in a process.

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

// The variable that names the folder of ::testing::TempDir().
constexpr char kFolderVariable[] = "TEST_TMPDIR";

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // A test that starts its own binary again shares its folder with that process.
  if (getenv(kFolderVariable) != nullptr) return RUN_ALL_TESTS();

  std::error_code error;
  std::string folder =
      (std::filesystem::temp_directory_path(error) / "mallocmuzero-test-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  setenv(kFolderVariable, folder.c_str(), /*overwrite=*/1);
  const int exit_code = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder, error);
  return exit_code;
}
