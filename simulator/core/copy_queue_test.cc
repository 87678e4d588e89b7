#include "simulator/core/copy_queue.h"

#include <random>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr CopyDirection kIn = CopyDirection::kIn;
constexpr CopyDirection kOut = CopyDirection::kOut;

bool IsDone(const CopyQueues& queues, const CopyTicket& copy) {
  return queues.Moved(copy.direction) >= copy.end;
}

TEST(CopyQueues, OneDirectionGetsAllTheBandwidth) {
  CopyQueues queues;
  const CopyTicket copy = queues.Issue(kIn, 100);
  queues.Advance(60);
  EXPECT_EQ(queues.Pending(kIn), 40);
  EXPECT_FALSE(IsDone(queues, copy));
  queues.Advance(40);
  EXPECT_TRUE(IsDone(queues, copy));
}

TEST(CopyQueues, DirectionsShareWhileBothAreBusy) {
  CopyQueues queues;
  queues.Issue(kIn, 300);
  const CopyTicket out = queues.Issue(kOut, 100);
  // Each direction gets 80 of the 160 bytes. The next 60 finish the outbound copy (20), move 20 of
  // the inbound one beside it, and then 20 of the inbound one alone.
  queues.Advance(160);
  EXPECT_EQ(queues.Pending(kIn), 220);
  EXPECT_EQ(queues.Pending(kOut), 20);
  queues.Advance(60);
  EXPECT_TRUE(IsDone(queues, out));
  EXPECT_EQ(queues.Pending(kIn), 180);
}

// XLA's ProcessAsyncCopyLikesInIdleTime halves the bandwidth again with every copy that finishes;
// CopyQueues does not: 3 pairs of 100 bytes need exactly 600 bytes of bandwidth.
TEST(CopyQueues, SharingIsNotHalvedAgainWithEveryCopy) {
  CopyQueues queues;
  for (int i = 0; i < 3; ++i) {
    queues.Issue(kIn, 100);
    queues.Issue(kOut, 100);
  }
  queues.Advance(600);
  EXPECT_EQ(queues.Pending(kIn), 0);
  EXPECT_EQ(queues.Pending(kOut), 0);
}

TEST(CopyQueues, BandwidthNobodyNeedsIsLost) {
  CopyQueues queues;
  queues.Issue(kIn, 10);
  queues.Advance(1000);
  const CopyTicket later = queues.Issue(kIn, 10);
  EXPECT_FALSE(IsDone(queues, later));
  EXPECT_EQ(queues.WaitFor(later), 10);
}

TEST(CopyQueues, WaitingTakesAllCopiesBeforeItInItsQueue) {
  CopyQueues queues;
  queues.Issue(kIn, 100);
  const CopyTicket second = queues.Issue(kIn, 50);
  const CopyTicket third = queues.Issue(kIn, 70);
  EXPECT_EQ(queues.WaitFor(second), 150);
  EXPECT_EQ(queues.Pending(kIn), 70);
  EXPECT_EQ(queues.WaitFor(second), 0);
  EXPECT_EQ(queues.WaitFor(third), 70);
}

TEST(CopyQueues, WaitingSharesWithTheOtherDirection) {
  // 100 bytes in, 40 out: out moves 40 while in moves 40, then in moves the other 60 alone: 140 in
  // all.
  CopyQueues queues;
  const CopyTicket in = queues.Issue(kIn, 100);
  const CopyTicket out = queues.Issue(kOut, 40);
  EXPECT_EQ(queues.WaitFor(in), 140);
  EXPECT_TRUE(IsDone(queues, out));

  // 100 bytes in, 500 out: until the copy in is done, out moves as much as in.
  CopyQueues contended;
  const CopyTicket small = contended.Issue(kIn, 100);
  contended.Issue(kOut, 500);
  EXPECT_EQ(contended.WaitFor(small), 200);
  EXPECT_EQ(contended.Pending(kOut), 400);
}

// A sliced prefetch is two copies, each of half a buffer, and the program waits for both. The first
// half is hidden behind 120 bytes of bandwidth; 80 bytes of the second half remain.
TEST(CopyQueues, SlicesOfOneBufferFinishInOrder) {
  CopyQueues queues;
  const CopyTicket first = queues.Issue(kIn, 100);
  const CopyTicket second = queues.Issue(kIn, 100);
  queues.Advance(120);
  EXPECT_TRUE(IsDone(queues, first));
  EXPECT_FALSE(IsDone(queues, second));
  EXPECT_EQ(queues.WaitFor(first), 0);
  EXPECT_EQ(queues.WaitFor(second), 80);
}

TEST(CopyQueues, DefaultTicketIsFinished) {
  CopyQueues queues;
  queues.Issue(kIn, 100);
  EXPECT_TRUE(IsDone(queues, CopyTicket()));
  EXPECT_EQ(queues.WaitFor(CopyTicket()), 0);
}

TEST(CopyQueues, SnapshotGoesBack) {
  CopyQueues queues;
  const CopyTicket copy = queues.Issue(kIn, 100);
  const CopyQueues snapshot = queues;
  EXPECT_EQ(queues.WaitFor(copy), 100);
  EXPECT_FALSE(queues == snapshot);
  queues = snapshot;
  EXPECT_EQ(queues.WaitFor(copy), 100);
}

TEST(CopyQueues, AdvanceInTwoPartsEqualsOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    CopyQueues queues;
    for (int i = random() % 6; i > 0; --i) {
      queues.Issue(random() % 2 == 0 ? kIn : kOut, random() % 1000);
    }
    queues.Advance(random() % 500);
    CopyQueues parts = queues;
    const double first = random() % 800;
    const double second = random() % 800;
    queues.Advance(first + second);
    parts.Advance(first);
    parts.Advance(second);
    // Halves of integers are exact in binary, so equality is exact.
    EXPECT_TRUE(queues == parts);
  }
}

// A wait moves bytes as idle bandwidth does: it ends when exactly the bytes that it returns have
// been moved.
TEST(CopyQueues, WaitingMovesWhatItReturns) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    CopyQueues queues;
    CopyTicket awaited;
    for (int i = 1 + random() % 6; i > 0; --i) {
      const CopyTicket ticket = queues.Issue(random() % 2 == 0 ? kIn : kOut, random() % 1000);
      if (random() % 2 == 0) awaited = ticket;
    }
    CopyQueues idle = queues;
    idle.Advance(queues.WaitFor(awaited));
    EXPECT_TRUE(queues == idle);
    EXPECT_TRUE(IsDone(queues, awaited));
  }
}

}  // namespace
}  // namespace mallocmuzero
