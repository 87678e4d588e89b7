#include "cli/train_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

TEST(TrainView, LinesDoNotWrapWhileTheyAreDrawnAndDoAgainBehindThem) {
  EXPECT_EQ(OverwriteText("", "a line\n"), "\x1b[?7la line\n\x1b[?7h");
  // Up by as many lines as there were, clear, draw.
  EXPECT_EQ(OverwriteText("first\nsecond\n", "other\n"), "\x1b[?7l\x1b[2A\x1b[Jother\n\x1b[?7h");
}

}  // namespace
}  // namespace mallocmuzero::cli
