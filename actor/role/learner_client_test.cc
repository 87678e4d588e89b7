#include "actor/role/learner_client.h"

#include <algorithm>
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
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "rpc/security.h"
#include "rpc/server.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::ElementsAre;

constexpr absl::Duration kTimeout = absl::Seconds(20);

// A learner whose weights, answers and faults the test sets.
class FakeLearner final : public v1::Learner::Service {
 public:
  grpc::Status WatchCheckpoint(grpc::ServerContext* context,
                               const v1::WatchCheckpointRequest* /*request*/,
                               grpc::ServerWriter<v1::CheckpointNotice>* writer) override {
    uint64_t sent = 0;
    while (!context->IsCancelled()) {
      v1::CheckpointNotice notice;
      {
        const absl::MutexLock lock(&mutex);
        const auto newer = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return step > sent; };
        if (!mutex.AwaitWithTimeout(absl::Condition(&newer), absl::Milliseconds(20))) continue;
        notice.set_step(step);
        notice.set_sha256(Sha256(weights));
        notice.set_bytes(weights.size());
        sent = step;
      }
      writer->Write(notice);
    }
    return grpc::Status::OK;
  }

  // Sends a file. For the weights, fails once after `cut_after` bytes, or damages them once.
  grpc::Status Fetch(grpc::ServerContext* /*context*/, const v1::FetchRequest* request,
                     grpc::ServerWriter<v1::FetchResponse>* writer) override {
    const absl::MutexLock lock(&mutex);
    offsets.push_back(request->offset());
    const bool is_weights = request->sha256() == Sha256(weights);
    if (superseded && is_weights) return {grpc::StatusCode::NOT_FOUND, "superseded"};
    const std::string& file = is_weights ? weights : program;
    if (Sha256(file) != request->sha256()) return {grpc::StatusCode::NOT_FOUND, "superseded"};
    const std::string rest = file.substr(request->offset());
    v1::FetchResponse chunk;
    chunk.set_data(rest);
    if (!is_weights) {
      writer->Write(chunk);
      return grpc::Status::OK;
    }
    if (cut_after > 0) chunk.set_data(rest.substr(0, cut_after));
    if (damage) (*chunk.mutable_data())[0] ^= 1;
    damage = false;
    writer->Write(chunk);
    if (cut_after == 0) return grpc::Status::OK;
    cut_after = 0;
    return {grpc::StatusCode::UNAVAILABLE, "cut"};
  }

  grpc::Status GetAssignment(grpc::ServerContext* /*context*/,
                             const v1::GetAssignmentRequest* /*request*/,
                             v1::Assignment* response) override {
    const absl::MutexLock lock(&mutex);
    response->set_version(version);
    v1::Assignment::Program& assigned = *response->add_programs();
    assigned.set_file_sha256(Sha256(program));
    assigned.set_file_bytes(program.size());
    return grpc::Status::OK;
  }

  grpc::Status Report(grpc::ServerContext* /*context*/, const v1::ActorReport* request,
                      v1::ActorOrders* response) override {
    const absl::MutexLock lock(&mutex);
    reports.push_back(*request);
    response->set_step(step);
    response->set_assignment_version(version);
    return answer;
  }

  absl::Mutex mutex;
  uint64_t step ABSL_GUARDED_BY(mutex) = 1;
  uint64_t version ABSL_GUARDED_BY(mutex) = 1;
  std::string weights ABSL_GUARDED_BY(mutex) = "weights of step 1";
  std::string program ABSL_GUARDED_BY(mutex) = "a program";
  size_t cut_after ABSL_GUARDED_BY(mutex) = 0;
  bool damage ABSL_GUARDED_BY(mutex) = false;
  bool superseded ABSL_GUARDED_BY(mutex) = false;  // each version at once
  std::vector<uint64_t> offsets ABSL_GUARDED_BY(mutex);
  grpc::Status answer ABSL_GUARDED_BY(mutex);  // to reports
  std::vector<v1::ActorReport> reports ABSL_GUARDED_BY(mutex);
};

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
  {
    const absl::MutexLock lock(&learner_.mutex);
    learner_.weights = absl::StrCat(std::string(1000, 'x'), "end");
    learner_.cut_after = 600;
  }
  Serve();
  const auto client = Connect();
  std::string wanted;
  {
    const absl::MutexLock lock(&learner_.mutex);
    wanted = learner_.weights;
  }
  EXPECT_TRUE(brought_.AwaitWeights(wanted));
  const absl::MutexLock lock(&learner_.mutex);
  EXPECT_NE(std::find(learner_.offsets.begin(), learner_.offsets.end(), 600),
            learner_.offsets.end());
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

TEST(LearnerClient, WeightsThatAreSupersededAgainAndAgainAreToldOf) {
  FakeLearner learner;
  learner.superseded = true;
  const auto server = *RpcServer::Start(
      {.address = "127.0.0.1:0", .security = std::make_shared<Security>(), .services = {&learner}});
  Brought brought;
  LearnerClient client({.address = server->address(), .security = std::make_shared<Security>()},
                       brought.Hooks());
  EXPECT_TRUE(Await([&] {
    const absl::MutexLock lock(&learner.mutex);
    ++learner.step;
    return absl::StrContains(client.figures().trouble, "superseded");
  }));
  {
    const absl::MutexLock lock(&learner.mutex);
    learner.superseded = false;
    ++learner.step;
  }
  EXPECT_TRUE(brought.AwaitWeights("weights of step 1"));
  EXPECT_TRUE(Await([&] { return client.figures().trouble.empty(); }));
}

}  // namespace
}  // namespace mallocmuzero
