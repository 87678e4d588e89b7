#include "view/names.h"

#include <string>

#include "base/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::view {
namespace {

TEST(Abridge, KeepsBeginAndEnd) {
  EXPECT_EQ(Abridge("fusion.12", 9), "fusion.12");
  // Two dots, and 4 of the other 7 bytes at the begin.
  EXPECT_EQ(Abridge("fusion.1234", 9), "fusi..234");
}

// Programs are named by their files, such as "größe".
TEST(Abridge, CutsNoCharacter) {
  std::string name;
  for (int k = 0; k < 20; ++k) name += "a\xc3\xb6\xe2\x82\xac";  // characters of 1, 2 and 3 bytes
  for (size_t limit = 9; limit < name.size(); ++limit) {
    const std::string abridged = Abridge(name, limit);
    EXPECT_TRUE(IsUtf8(abridged)) << limit << ": " << abridged;
    EXPECT_LE(abridged.size(), limit);
    EXPECT_GE(abridged.size() + 4, limit) << "at most two bytes are left out at each cut";
  }
}

}  // namespace
}  // namespace mallocmuzero::view
