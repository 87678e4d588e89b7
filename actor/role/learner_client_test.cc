#include "actor/role/learner_client.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "actor/role/test_learner.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "rpc/security.h"
#include "rpc/server.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;

constexpr absl::Duration kTimeout = absl::Seconds(20);

// Records what a client brings.
struct Brought {
  LearnerClientHooks Hooks() {
    return {.report =
                [] {
                  v1::ActorReport report;
                  report.set_actor("a");
                  return report;
                },
            .reported = [](const v1::ActorReport&, const absl::Status&, const v1::ActorOrders&) {},
            .assigned =
                [this](const v1::Assignment& assignment, const ProgramFiles& files) {
                  const absl::MutexLock lock(&mutex);
                  versions.push_back(assignment.version());
                  for (const auto& [sha256, file] : files) program = *file;
                  return absl::OkStatus();
                },
            .weights =
                [this](const v1::CheckpointNotice& notice, const std::string& bytes) {
                  const absl::MutexLock lock(&mutex);
                  steps.push_back(notice.step());
                  weights = bytes;
                  return absl::OkStatus();
                },
            .wanted_candidate =
                [this] {
                  const absl::MutexLock lock(&mutex);
                  return candidate;
                },
            .candidate_weights =
                [this](const v1::CheckpointNotice& notice, const std::string& bytes) {
                  const absl::MutexLock lock(&mutex);
                  EXPECT_EQ(notice.sha256(), candidate->sha256());
                  if (refuses_candidate) return absl::ResourceExhaustedError("no memory for two");
                  candidate_weights = bytes;
                  candidate.reset();
                  return absl::OkStatus();
                }};
  }

  // Makes the client fetch this file as the weights of a candidate, and refuses them if `refuses`.
  void WantCandidate(const std::string& file, bool refuses = false) {
    v1::CheckpointNotice notice;
    notice.set_step(7);
    notice.set_sha256(Sha256(file));
    notice.set_bytes(file.size());
    const absl::MutexLock lock(&mutex);
    candidate = notice;
    refuses_candidate = refuses;
  }

  bool AwaitWeights(const std::string& wanted) {
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return weights == wanted; };
    const absl::MutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(absl::Condition(&there), kTimeout);
  }

  bool AwaitVersion(uint64_t wanted) {
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      return !versions.empty() && versions.back() == wanted;
    };
    const absl::MutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(absl::Condition(&there), kTimeout);
  }

  absl::Mutex mutex;
  std::vector<uint64_t> versions ABSL_GUARDED_BY(mutex);
  std::string program ABSL_GUARDED_BY(mutex);
  std::vector<uint64_t> steps ABSL_GUARDED_BY(mutex);
  std::string weights ABSL_GUARDED_BY(mutex);
  std::optional<v1::CheckpointNotice> candidate ABSL_GUARDED_BY(mutex);  // that is wanted
  bool refuses_candidate ABSL_GUARDED_BY(mutex) = false;
  std::string candidate_weights ABSL_GUARDED_BY(mutex);
};

class LearnerClientTest : public ::testing::Test {
 protected:
  void Serve(const std::string& address = "127.0.0.1:0") {
    server_ = *RpcServer::Start({.address = address, .services = {&learner_}});
    address_ = server_->address();
  }

  std::unique_ptr<LearnerClient> Connect(absl::Duration report_interval = absl::Milliseconds(20)) {
    return std::make_unique<LearnerClient>(
        LearnerClientOptions{.address = address_,
                             .security = std::make_shared<Security>(),
                             .report_interval = report_interval},
        brought_.Hooks());
  }

  // Replaces the learner's weights.
  void Publish(uint64_t step) {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.step = step;
    learner_.weights = absl::StrCat("weights of step ", step);
  }

  FakeLearner learner_;
  Brought brought_;
  std::unique_ptr<RpcServer> server_;
  std::string address_;
};

TEST_F(LearnerClientTest, BringsWeightsAndPrograms) {
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  EXPECT_TRUE(brought_.AwaitVersion(1));
  Publish(2);
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.version = 2;
  }
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 2"));
  EXPECT_TRUE(brought_.AwaitVersion(2));
  EXPECT_EQ(client->figures().fetches, 2);
  const absl::MutexLock lock(&brought_.mutex);
  EXPECT_EQ(brought_.program, "a program");
  // Two versions of the weights, and the program once, since it has not changed.
  const absl::MutexLock learner_lock(&learner_.mutex);
  EXPECT_EQ(learner_.offsets.size(), 3);
}

TEST_F(LearnerClientTest, BringsTheWeightsOfACandidateBesideTheNewest) {
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  brought_.WantCandidate("a program");  // a file that this learner has besides the newest weights
  EXPECT_TRUE(Await([&] {
    const absl::MutexLock lock(&brought_.mutex);
    return brought_.candidate_weights == "a program";
  }));
  const absl::MutexLock lock(&brought_.mutex);
  EXPECT_THAT(brought_.steps, ElementsAre(1));
}

TEST_F(LearnerClientTest, ACandidateThatTheLearnerNoLongerHasIsAskedForOnce) {
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  EXPECT_TRUE(brought_.AwaitVersion(1));
  brought_.WantCandidate("weights that are gone");
  const auto fetches = [&] {
    const absl::MutexLock lock(&learner_.mutex);
    return learner_.offsets.size();
  };
  EXPECT_TRUE(Await([&] { return fetches() == 3; }));
  Publish(2);
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 2"));
  EXPECT_EQ(fetches(), 4);
  EXPECT_EQ(client->figures().trouble, "");
}

TEST_F(LearnerClientTest, ACandidateThatCannotBeTakenKeepsNoNewerWeightsAway) {
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  brought_.WantCandidate("a program", /*refuses=*/true);
  EXPECT_TRUE(
      Await([&] { return absl::StrContains(client->figures().trouble, "no memory for two"); }));
  Publish(2);
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 2"));
  // The trouble ends with its cause, although no newer weights come.
  brought_.WantCandidate("a program");
  EXPECT_TRUE(Await([&] { return client->figures().trouble.empty(); }));
}

TEST_F(LearnerClientTest, AFetchThatIsCutGoesOnWhereItWas) {
  const std::string wanted = absl::StrCat(std::string(1000, 'x'), "end");
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.weights = wanted;
    learner_.cut_after = 600;
  }
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights(wanted));
  const absl::MutexLock lock(&learner_.mutex);
  EXPECT_THAT(learner_.offsets, Contains(600));
}

TEST_F(LearnerClientTest, ASlowConnectionHasTimeForWholeWeights) {
  const std::string wanted(2 << 20, 'x');
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.weights = wanted;
  }
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights(wanted));
  const absl::MutexLock lock(&learner_.mutex);
  EXPECT_THAT(learner_.timeouts, Contains(Gt(absl::Seconds(80))));  // a minute, and 32 s for 2 MiB
}

TEST_F(LearnerClientTest, DamagedWeightsAreFetchedAgain) {
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.damage = true;
  }
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  EXPECT_TRUE(brought_.AwaitVersion(1));
  EXPECT_EQ(client->figures().damaged_fetches, 1);
}

TEST_F(LearnerClientTest, ALearnerThatComesLateOrAgainIsFound) {
  Serve();
  server_ = nullptr;
  const auto client = Connect();
  EXPECT_TRUE(Await([&] { return client->figures().failed_reports > 0; }));
  EXPECT_EQ(client->figures().last_contact, absl::InfinitePast());
  Serve(address_);
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  server_->Shutdown(absl::ZeroDuration());
  server_ = nullptr;
  Publish(9);
  Serve(address_);
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 9"));
  const absl::MutexLock lock(&brought_.mutex);
  EXPECT_THAT(brought_.steps, ElementsAre(1, 9));
}

TEST_F(LearnerClientTest, SaysWhyThereIsNoContact) {
  Serve();
  server_ = nullptr;
  const auto client = Connect();
  const auto await_trouble = [&](const std::string& wanted) {
    Await([&] { return client->figures().trouble == wanted; });
    return client->figures().trouble;
  };
  EXPECT_EQ(await_trouble("Connection refused"), "Connection refused");
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.answer = {grpc::StatusCode::UNAUTHENTICATED, "no token"};
  }
  Serve(address_);
  EXPECT_EQ(await_trouble("UNAUTHENTICATED: no token"), "UNAUTHENTICATED: no token");
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.answer = grpc::Status::OK;
  }
  EXPECT_EQ(await_trouble(""), "");
}

TEST_F(LearnerClientTest, LeavesWithALastReport) {
  Serve();
  const auto client = Connect();
  ASSERT_TRUE(brought_.AwaitVersion(1));
  client->Leave(kTimeout);
  const absl::MutexLock lock(&learner_.mutex);
  ASSERT_FALSE(learner_.reports.empty());
  EXPECT_TRUE(learner_.reports.back().leaving());
  EXPECT_FALSE(learner_.reports.front().leaving());
}

TEST_F(LearnerClientTest, EndsWhereNobodyIsThere) {
  address_ = "127.0.0.1:1";
  auto client = Connect();
  EXPECT_TRUE(Await([&] { return client->figures().failed_reports > 0; }));
  client = nullptr;
}

// A client that waits for its next report makes this test hang.
TEST_F(LearnerClientTest, EndsBeforeItsNextReport) {
  Serve();
  auto client = Connect(absl::Hours(1));
  EXPECT_TRUE(Await([&] { return client->figures().reports > 0; }));
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  client = nullptr;
}

TEST_F(LearnerClientTest, WeightsThatAreSupersededAgainAndAgainAreToldOf) {
  const auto publish = [&](bool superseded) {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.superseded = superseded;
    ++learner_.step;
  };
  publish(true);
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(Await([&] {
    publish(true);
    return absl::StrContains(client->figures().trouble, "superseded");
  }));
  publish(false);
  EXPECT_TRUE(brought_.AwaitWeights("weights of step 1"));
  EXPECT_TRUE(Await([&] { return client->figures().trouble.empty(); }));
}

}  // namespace
}  // namespace mallocmuzero
