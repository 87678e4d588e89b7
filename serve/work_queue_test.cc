#include "serve/work_queue.h"

#include <atomic>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Work that runs until the test lets it end.
class HeldWork final : public Work {
 public:
  void Run(absl::FunctionRef<void()> leave) override {
    if (leaves) leave();
    begun.Notify();
    end.WaitForNotification();
    ended = true;
  }
  bool leaves = false;  // its place, before the test lets it end
  absl::Notification begun;
  absl::Notification end;
  std::atomic<bool> ended = false;
};

class WorkQueueTest : public ::testing::Test {
 protected:
  WorkQueueTest() {
    EXPECT_TRUE(queue_.Push(&running_).ok());
    running_.begun.WaitForNotification();
  }
  ~WorkQueueTest() override {
    if (!running_.end.HasBeenNotified()) running_.end.Notify();
  }

  HeldWork running_;
  HeldWork waiting_;
  HeldWork late_;
  WorkQueue queue_{1, 1};
};

TEST_F(WorkQueueTest, RefusesWhatIsBeyondItsBounds) {
  EXPECT_TRUE(queue_.Push(&waiting_).ok());
  EXPECT_EQ(queue_.running(), 1);
  EXPECT_EQ(queue_.waiting(), 1);
  const absl::Status full = queue_.Push(&late_);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("1 searches run and 1 wait"));
  EXPECT_TRUE(queue_.Remove(&waiting_));
  EXPECT_TRUE(queue_.Push(&late_).ok());
  EXPECT_TRUE(queue_.Remove(&late_));
}

TEST(WorkQueue, TakesOtherWorkOnceWorkHasLeft) {
  HeldWork work;
  HeldWork next;
  HeldWork late;
  work.leaves = true;
  WorkQueue queue(1, 0);
  ASSERT_TRUE(queue.Push(&work).ok());
  work.begun.WaitForNotification();
  EXPECT_EQ(queue.running(), 0);
  EXPECT_TRUE(queue.Push(&next).ok());
  EXPECT_EQ(queue.Push(&late).code(), absl::StatusCode::kResourceExhausted);
  work.end.Notify();
  next.begun.WaitForNotification();
  EXPECT_EQ(queue.running(), 1);
  EXPECT_EQ(queue.Push(&late).code(), absl::StatusCode::kResourceExhausted);
  next.end.Notify();
}

TEST_F(WorkQueueTest, RunsWhatWaited) {
  EXPECT_TRUE(queue_.Push(&waiting_).ok());
  running_.end.Notify();
  waiting_.begun.WaitForNotification();
  EXPECT_FALSE(queue_.Remove(&waiting_));
  waiting_.end.Notify();
}

// Work that notes when it ran.
class NotedWork final : public Work {
 public:
  NotedWork(int number, std::vector<int>& order, absl::BlockingCounter& left)
      : number_(number), order_(order), left_(left) {}

  void Run(absl::FunctionRef<void()> /*leave*/) override {
    order_.push_back(number_);
    left_.DecrementCount();
  }

 private:
  const int number_;
  std::vector<int>& order_;
  absl::BlockingCounter& left_;
};

TEST(WorkQueue, ServesFirstWhatCameFirst) {
  HeldWork running;
  std::vector<int> order;
  absl::BlockingCounter left(2);
  NotedWork first(1, order, left);
  NotedWork second(2, order, left);
  WorkQueue queue(1, 2);
  ASSERT_TRUE(queue.Push(&running).ok());
  running.begun.WaitForNotification();
  EXPECT_TRUE(queue.Push(&first).ok());
  EXPECT_TRUE(queue.Push(&second).ok());
  running.end.Notify();
  left.Wait();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(WorkQueueTest, CloseHandsBackWhatWaits) {
  EXPECT_TRUE(queue_.Push(&waiting_).ok());
  EXPECT_THAT(queue_.Close(), ElementsAre(&waiting_));
  EXPECT_EQ(queue_.Push(&late_).code(), absl::StatusCode::kUnavailable);
  running_.end.Notify();
  queue_.Join();
  EXPECT_TRUE(running_.ended);
  EXPECT_FALSE(waiting_.begun.HasBeenNotified());
}

}  // namespace
}  // namespace mallocmuzero
