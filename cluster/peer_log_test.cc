#include "cluster/peer_log.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kRefused[] = "Connection refused";
constexpr char kKilled[] = "it has ended and started again";

class PeerLogTest : public testing::Test {
 protected:
  // The texts of the lines at `seconds` after the start, for a shard with this trouble.
  std::vector<std::string> At(int seconds, const std::string& trouble, uint64_t losses = 0) {
    const std::vector<PeerState> peers = {{.name = "shard a",
                                           .trouble = trouble,
                                           .losses = losses,
                                           .last_loss = losses > 0 ? kKilled : ""}};
    std::vector<std::string> texts;
    for (const PeerLog::Line& line :
         log_.Note(peers, absl::FromUnixSeconds(1'000'000) + absl::Seconds(seconds))) {
      texts.push_back(line.text);
    }
    return texts;
  }

  PeerLog log_;
};

TEST_F(PeerLogTest, TellsALossOnceAndTheReturn) {
  EXPECT_THAT(At(0, ""), IsEmpty());
  EXPECT_THAT(At(1, kRefused), ElementsAre("shard a: Connection refused; tries on"));
  EXPECT_THAT(At(2, kRefused), IsEmpty());
  EXPECT_THAT(At(100, kRefused), IsEmpty());
  EXPECT_THAT(At(101, ""), ElementsAre("shard a is there again after 1m40s"));
  EXPECT_THAT(At(102, ""), IsEmpty());
}

TEST_F(PeerLogTest, OneThatComesAndGoesIsTalkedOfOnceAMinute) {
  At(0, kRefused);
  EXPECT_THAT(At(1, ""), ElementsAre("shard a is there again after 1s"));
  EXPECT_THAT(At(2, kRefused), IsEmpty());
  // The return is not reported if the loss was not.
  EXPECT_THAT(At(3, ""), IsEmpty());
  EXPECT_THAT(At(4, kRefused), IsEmpty());
  EXPECT_THAT(At(60, kRefused), ElementsAre("shard a: Connection refused; tries on"));
  EXPECT_THAT(At(64, ""), ElementsAre("shard a is there again after 1m"));
}

TEST_F(PeerLogTest, TellsALossThatWasMendedBetweenTwoLooks) {
  EXPECT_THAT(At(0, kRefused), ElementsAre("shard a: Connection refused; tries on"));
  EXPECT_THAT(At(1, ""), ElementsAre("shard a is there again after 1s"));
  EXPECT_THAT(At(2, "", 1), ElementsAre("shard a: it has ended and started again; tries on",
                                        "shard a is there again at once"));
  EXPECT_THAT(At(3, "", 1), IsEmpty());
  // A loss that is not mended yet is told once, too.
  EXPECT_THAT(At(4, kKilled, 2), ElementsAre("shard a: it has ended and started again; tries on"));
  EXPECT_THAT(At(5, kKilled, 2), IsEmpty());
  EXPECT_THAT(At(7, "", 2), ElementsAre("shard a is there again after 3s"));
}

TEST_F(PeerLogTest, AnotherReasonIsNews) {
  At(0, kRefused);
  EXPECT_THAT(At(1, "UNAUTHENTICATED: no token"), IsEmpty());
  EXPECT_THAT(At(60, "UNAUTHENTICATED: no token"),
              ElementsAre("shard a: UNAUTHENTICATED: no token; tries on"));
}

}  // namespace
}  // namespace mallocmuzero
