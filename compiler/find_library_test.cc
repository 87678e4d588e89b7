#include "compiler/find_library.h"

#include <cstdlib>
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
  ~FindCompilerLibraryTest() override { unsetenv("TPU_LIBRARY_PATH"); }
};

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
