#include "compiler/compiler_message.h"

#include <string>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(CompilerMessage, KeepsTheFirstParagraphInOneLine) {
  EXPECT_EQ(FirstParagraph("\nRan out of memory.\n  Used 133M of 127M.\n\nTotal usage:\n  1. x"),
            "Ran out of memory. Used 133M of 127M.");
  EXPECT_EQ(FirstParagraph(""), "");
}

TEST(CompilerMessage, ShortensALongParagraph) {
  const std::string line = FirstParagraph(std::string(5000, 'x'));
  EXPECT_EQ(line.size(), 1000);
  EXPECT_EQ(line.substr(997), "...");
}

TEST(CompilerMessage, FindsTheLastCheckThatFailed) {
  EXPECT_EQ(ReasonOfAbort("W1123 23:05:00.1 7 a.cc:1] a warning\n"
                          "F1123 23:05:00.2 7 b.cc:89] Check failed: x == y (1 vs. 2)\n"
                          "*** Check failure stack trace: ***\n    @ 0x1 main\n"),
            "b.cc:89] Check failed: x == y (1 vs. 2)");
}

TEST(CompilerMessage, TakesTheLastLineWhereNoCheckFailed) {
  EXPECT_EQ(ReasonOfAbort("starting\nterminate called: no memory\n    @ 0x1 main\n\n"),
            "terminate called: no memory");
  EXPECT_EQ(ReasonOfAbort(""), "");
}

}  // namespace
}  // namespace mallocmuzero
