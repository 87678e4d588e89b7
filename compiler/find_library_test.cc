#include "compiler/find_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

TEST_F(FindCompilerLibraryTest, AsksPythonForItsPackage) {
  std::string folder = testing::TempDir() + "libtpu-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directory(folder + "/libtpu");
  std::ofstream(folder + "/libtpu/__init__.py") << "raise Exception('not to be imported')\n";
  std::ofstream(folder + "/libtpu/libtpu.so") << "library";
  setenv("PYTHONPATH", folder.c_str(), 1);
  EXPECT_EQ(*FindCompilerLibrary(""), folder + "/libtpu/libtpu.so");
  std::filesystem::remove_all(folder);
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
