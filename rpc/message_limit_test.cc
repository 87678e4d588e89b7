#include "rpc/message_limit.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(MessageLimit, LeavesOutMessagesOfAMinuteAndTellsTheirNumberInTheNext) {
  MessageLimit limit;
  const MessageLimit::Time start;
  for (uint32_t i = 0; i < MessageLimit::kMostInAMinute; ++i) EXPECT_EQ(limit.Take(start), 0);
  EXPECT_EQ(limit.Take(start), std::nullopt);
  EXPECT_EQ(limit.Take(start + std::chrono::seconds(59)), std::nullopt);
  EXPECT_EQ(limit.Take(start + std::chrono::seconds(60)), 2);
  EXPECT_EQ(limit.Take(start + std::chrono::seconds(60)), 0);
}

TEST(MessageLimit, CountsAMinuteFromItsFirstMessage) {
  MessageLimit limit;
  const MessageLimit::Time late = MessageLimit::Time() + std::chrono::hours(5);
  for (uint32_t i = 0; i < MessageLimit::kMostInAMinute; ++i) EXPECT_EQ(limit.Take(late), 0);
  EXPECT_EQ(limit.Take(late + std::chrono::seconds(59)), std::nullopt);
  EXPECT_EQ(limit.Take(late + std::chrono::seconds(61)), 1);
}

}  // namespace
}  // namespace mallocmuzero
