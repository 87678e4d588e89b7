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

}  // namespace
}  // namespace mallocmuzero
