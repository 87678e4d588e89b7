#include "learner/role/group_watch.h"

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/server.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Process 0 with its server, and any of the others.
class GroupWatchTest : public ::testing::Test {
 protected:
  GroupWatchTest() { StartFirst(); }

  void StartFirst() {
    first_ = Start(0);
    auto server =
        RpcServer::Start({.address = address_, .security = security_, .services = {first_.get()}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = server_->address();
  }

  void EndFirst() {
    server_ = nullptr;
    first_ = nullptr;
  }

  std::unique_ptr<GroupWatch> Start(uint32_t rank) const {
    return std::make_unique<GroupWatch>(GroupWatchOptions{.rank = rank,
                                                          .processes = 3,
                                                          .address = address_,
                                                          .security = security_,
                                                          .interval = absl::Milliseconds(50),
                                                          .silence = absl::Seconds(1)});
  }

  // Lets the processes meet once their heartbeats have come.
  void Meet(GroupWatch& second, GroupWatch& third) const {
    absl::SleepFor(absl::Milliseconds(500));
    first_->Meet();
    second.Meet();
    third.Meet();
  }

  const absl::Notification stop_;
  const std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<GroupWatch> first_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(GroupWatchTest, AllNameTheProcessThatIsSilent) {
  const auto second = Start(1);
  auto third = Start(2);
  Meet(*second, *third);
  third = nullptr;
  EXPECT_THAT(first_->WhoIsLost(stop_),
              StartsWith("process 2 of the learner is lost: no heartbeat for "));
  EXPECT_THAT(second->WhoIsLost(stop_), StartsWith("process 2 of the learner is lost"));
  // After the next meeting the loss is forgotten.
  third = Start(2);
  Meet(*second, *third);
  EXPECT_EQ(first_->WhoIsLost(stop_), "a process of the learner is lost");
}

TEST_F(GroupWatchTest, AProcessThatHasStartedAgainWasLost) {
  const auto second = Start(1);
  auto third = Start(2);
  Meet(*second, *third);
  absl::SleepFor(absl::Milliseconds(500));  // some heartbeats
  third = Start(2);
  EXPECT_EQ(first_->WhoIsLost(stop_),
            "process 2 of the learner is lost: it has ended and started again");
  EXPECT_THAT(second->WhoIsLost(stop_), HasSubstr("process 2"));
}

TEST_F(GroupWatchTest, AProcessThatLivesButDoesNotComeIsNamed) {
  const auto second = Start(1);
  const auto third = Start(2);
  Meet(*second, *third);
  first_->BeginCall();
  first_->BeginCall();
  second->BeginCall();
  third->BeginCall();
  third->BeginCall();
  EXPECT_EQ(first_->WhoIsLost(stop_),
            "process 1 of the learner is lost: it is alive, but did not come to joint call 2");
  EXPECT_THAT(third->WhoIsLost(stop_), HasSubstr("process 1"));
}

TEST_F(GroupWatchTest, TheOthersNameProcessZero) {
  const auto second = Start(1);
  const auto third = Start(2);
  Meet(*second, *third);
  EndFirst();
  EXPECT_THAT(second->WhoIsLost(stop_),
              HasSubstr("process 0 of the learner is lost: no heartbeat"));
  StartFirst();
  EXPECT_THAT(third->WhoIsLost(stop_), HasSubstr("process 0 of the learner is lost"));
}

}  // namespace
}  // namespace mallocmuzero
