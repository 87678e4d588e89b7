#include "compiler/find_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

constexpr char kSomeFile[] = MALLOCMUZERO_SOURCE_DIR "/README.md";
constexpr char kOtherFile[] = MALLOCMUZERO_SOURCE_DIR "/LICENSE";

class FindCompilerLibraryTest : public testing::Test {
 protected:
  FindCompilerLibraryTest() { unsetenv("TPU_LIBRARY_PATH"); }
  ~FindCompilerLibraryTest() override {
    unsetenv("TPU_LIBRARY_PATH");
    unsetenv("PYTHONPATH");
  }
};

// A folder with a Python package libtpu, in which Python looks first.
class PythonPackageTest : public FindCompilerLibraryTest {
 protected:
  PythonPackageTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::filesystem::create_directory(folder_ + "/libtpu");
    std::ofstream(folder_ + "/libtpu/__init__.py") << "raise Exception('not to be imported')\n";
    std::ofstream(folder_ + "/libtpu/libtpu.so") << "library";
    setenv("PYTHONPATH", folder_.c_str(), 1);
  }
  ~PythonPackageTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "libtpu-XXXXXX";
};

TEST_F(PythonPackageTest, IsFoundByPython) {
  EXPECT_EQ(*FindCompilerLibrary(""), folder_ + "/libtpu/libtpu.so");
}

TEST_F(PythonPackageTest, IsFoundAmongWarningsOfPython) {
  std::ofstream(folder_ + "/sitecustomize.py") << "import atexit, sys\n"
                                                  "def warn():\n"
                                                  "  print('a warning', file=sys.stderr)\n"
                                                  "warn()\n"
                                                  "atexit.register(warn)\n";
  const absl::StatusOr<std::string> found = FindCompilerLibrary("");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, folder_ + "/libtpu/libtpu.so");
}

TEST_F(FindCompilerLibraryTest, TakesWhatIsGivenBeforeTheVariable) {
  setenv("TPU_LIBRARY_PATH", kOtherFile, 1);
  EXPECT_EQ(*FindCompilerLibrary(kSomeFile), kSomeFile);
  EXPECT_EQ(*FindCompilerLibrary(""), kOtherFile);
}

TEST_F(FindCompilerLibraryTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(std::string(FindCompilerLibrary("/no/libtpu.so").status().message()),
              HasSubstr("/no/libtpu.so: no such file"));
  setenv("TPU_LIBRARY_PATH", "/none/libtpu.so", 1);
  EXPECT_THAT(std::string(FindCompilerLibrary("").status().message()),
              HasSubstr("/none/libtpu.so: no such file; TPU_LIBRARY_PATH"));
}

}  // namespace
}  // namespace mallocmuzero
