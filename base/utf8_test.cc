#include "base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Utf8, WellFormedTextIsLeftAsItIs) {
  // U+00E4, U+20AC, U+D7FF, U+E000, U+1F600, U+10FFFF.
  for (const std::string text : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(ToUtf8("a" + text + "b"), "a" + text + "b");
  }
}

TEST(Utf8, EachByteThatIsNoPartOfItBecomesAQuestionMark) {
  EXPECT_EQ(ToUtf8("a\xff\xfe"
                   "b"),
            "a??b");
  EXPECT_EQ(ToUtf8("\x80"), "?");                 // a continuation alone
  EXPECT_EQ(ToUtf8("\xc0\x80"), "??");            // overlong
  EXPECT_EQ(ToUtf8("\xe0\x9f\xbf"), "???");       // overlong
  EXPECT_EQ(ToUtf8("\xf0\x8f\xbf\xbf"), "????");  // overlong
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(ToUtf8("\xf4\x90\x80\x80"), "????");  // beyond U+10FFFF
  EXPECT_EQ(ToUtf8("\xe2\x82"), "??");            // cut short
  EXPECT_EQ(ToUtf8("\xe2\x82"
                   "b\xc3\xa4"),
            "??b\xc3\xa4");
  EXPECT_FALSE(IsUtf8("\xe2\x82"));
}

TEST(WithoutControls, LeavesWhatDoesNoHarmInATerminal) {
  EXPECT_EQ(WithoutControls("a\x1b[2J\r\n\x7f"), "a [2J   ");
  EXPECT_EQ(WithoutControls("a\tb\nc\x1b", "\n\t"), "a\tb\nc ");
  EXPECT_EQ(WithoutControls(std::string("a\0b", 3)), "a b");
  EXPECT_EQ(WithoutControls("\xc2\x9b"
                            "2J \xc2\xa0 \xc3\x9b"),
            "  2J \xc2\xa0 \xc3\x9b");
}

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
}  // namespace mallocmuzero
