#include "cli/agent/run_role.h"

#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero::cli {
namespace {

TEST(LearnerSecondsToEnd, LeaveTimeToSaveAfterTheWaitForOtherProcesses) {
  v1::LearnerRole learner;
  learner.set_group_timeout_seconds(60);
  EXPECT_EQ(LearnerSecondsToEnd(learner), 75);
  learner.set_group_timeout_seconds(3600);
  EXPECT_EQ(LearnerSecondsToEnd(learner), 3615);
  // A large checkpoint takes as long, however short the wait is.
  learner.set_group_timeout_seconds(5);
  EXPECT_EQ(LearnerSecondsToEnd(learner), 75);
}

}  // namespace
}  // namespace mallocmuzero::cli
