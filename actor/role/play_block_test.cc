#include "actor/role/play_block.h"

#include <string>

#include "base/utf8.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(PlayBlock, ATextForAReportIsShortAndUtf8) {
  EXPECT_EQ(ForReport("shard replay-0: /Größe: cannot write"),
            "shard replay-0: /Größe: cannot write");
  // The 200th byte is the first one of a character of two bytes.
  const std::string cut = ForReport(std::string(199, 'x') + "öß");
  EXPECT_EQ(cut, std::string(199, 'x') + "?");
  EXPECT_TRUE(
      IsUtf8(ForReport("/Gr\xf6\xdf"
                       "e: cannot write")));
}

}  // namespace
}  // namespace mallocmuzero
