#include "learner/role/group_watch.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/server.h"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The service of process 0. Counts the heartbeats of each process.
class HeartbeatCounter final : public v1::LearnerGroup::CallbackService {
 public:
  explicit HeartbeatCounter(GroupWatch& watch) : watch_(watch) {}

  grpc::ServerUnaryReactor* Beat(grpc::CallbackServerContext* context, const v1::Heartbeat* request,
                                 v1::GroupHealth* response) override {
    ++beats_[request->rank()];
    return watch_.Beat(context, request, response);
  }

  int beats(uint32_t rank) const { return beats_[rank]; }

 private:
  GroupWatch& watch_;
  std::array<std::atomic<int>, 3> beats_ = {};
};

// Process 0 with its server, and any of the others.
class GroupWatchTest : public ::testing::Test {
 protected:
  GroupWatchTest() { StartFirst(); }

  void StartFirst() {
    first_ = Start(0);
    counter_ = std::make_unique<HeartbeatCounter>(*first_);
    auto server = RpcServer::Start(
        {.address = address_, .security = security_, .services = {counter_.get()}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void EndFirst() {
    server_ = nullptr;
    counter_ = nullptr;
    first_ = nullptr;
  }

  std::unique_ptr<GroupWatch> Start(uint32_t rank) const {
    return std::make_unique<GroupWatch>(GroupWatchOptions{.rank = rank,
                                                          .processes = 3,
                                                          .address = address_,
                                                          .security = security_,
                                                          .interval = absl::Milliseconds(50),
                                                          .silence = absl::Seconds(3)});
  }

  // Waits until the second and the third process have got the answer to a heartbeat that they have
  // sent since the call. A process sends one heartbeat after the other. The first one may be from
  // before the call, and the third one is sent after the answer to the second one.
  void AwaitHeartbeats() const {
    for (const uint32_t rank : {1, 2}) {
      const int before = counter_->beats(rank);
      ASSERT_TRUE(testing::Await([&] { return counter_->beats(rank) >= before + 3; }));
    }
  }

  // Lets the processes meet, and learn from heartbeats whom they have met.
  void Meet(GroupWatch& second, GroupWatch& third) const {
    AwaitHeartbeats();
    first_->Meet();
    second.Meet();
    third.Meet();
    AwaitHeartbeats();
  }

  const absl::Notification stop_;
  const std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  const std::string address_ = testing::FreeAddress();
  std::unique_ptr<GroupWatch> first_;
  std::unique_ptr<HeartbeatCounter> counter_;
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
