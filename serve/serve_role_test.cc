// A server and its clients in one process, over sockets.

#include "serve/serve_role.h"

#include <fcntl.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"
#include "model/testing/failing_memory.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/test_certificates.h"
#include "rpc/testing/await.h"
#include "serve/find_mapping.h"
#include "serve/serve_config.h"
#include "serve/testing/requests.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using testing::Await;
using ::testing::HasSubstr;
using testing::LayersRequest;
using ::testing::Not;

constexpr double kLongBudget = 600;

class ServeRoleTest : public ::testing::Test {
 protected:
  ServeRoleTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "serve-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    config_.set_address("127.0.0.1:0");
    config_.set_searches(2);
    config_.set_waiting(1);
    config_.set_simulations(2);
  }
  ~ServeRoleTest() override {
    role_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void AddNetwork() {
    const auto network = Network::Create(*NetworkPreset("tiny"), 1);
    ASSERT_TRUE(SaveCheckpoint(folder_ + "/network", MakeCheckpoint(**network)).ok());
    config_.set_checkpoint(folder_ + "/network");
  }

  void Start() {
    auto started = ServeRole::Start(*CompleteServeConfig(config_), security_, &registry_);
    ASSERT_TRUE(started.ok()) << started.status();
    role_ = *std::move(started);
    server_ = v1::Mapper::NewStub(MakeChannel(role_->address(), *security_));
  }

  absl::StatusOr<v1::FoundMapping> Ask(const v1::FindMappingRequest& request,
                                       const FindMappingOptions& options = {}) {
    return FindMapping(*server_, *security_, request, options);
  }

  v1::ServerInfo Info() {
    grpc::ClientContext context;
    PrepareCall(context, *security_, absl::Seconds(30));
    v1::ServerInfo info;
    EXPECT_TRUE(server_->GetServerInfo(&context, {}, &info).ok());
    return info;
  }

  // A client whose search has begun. It ends when the test cancels it.
  struct Client {
    std::atomic<bool> begun = false;
    std::atomic<bool> cancel = false;
    std::atomic<bool> ended = false;
    absl::StatusOr<v1::FoundMapping> found = absl::UnknownError("not asked");
    std::thread thread;
  };
  std::unique_ptr<Client> LongSearch() {
    auto client = std::make_unique<Client>();
    client->thread = std::thread([this, c = client.get()] {
      FindMappingOptions options;
      options.started = [c](const v1::SearchStarted&) { c->begun = true; };
      options.stop = [c] { return c->cancel.load(); };
      c->found = Ask(LayersRequest(60, kLongBudget), options);
      c->ended = true;
    });
    return client;
  }
  static void End(Client& client) {
    client.cancel = true;
    client.thread.join();
  }

  std::string Metrics() const {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  std::string folder_;
  v1::ServeConfig config_;
  std::shared_ptr<const Security> security_ = std::make_shared<const Security>();
  prometheus::Registry registry_;
  std::unique_ptr<ServeRole> role_;
  std::unique_ptr<v1::Mapper::Stub> server_;
};

TEST_F(ServeRoleTest, ADeviceThatFailsEndsItsCallsAndTheServerSaysSo) {
  AddNetwork();
  Start();
  EXPECT_EQ(role_->status(), absl::OkStatus());
  {
    const testing::FailingMemory failing;
    // The agent's share of the time must be long enough for a game on a busy machine.
    EXPECT_EQ(Ask(LayersRequest(60, 60)).status().code(), absl::StatusCode::kInternal);
  }
  EXPECT_EQ(role_->status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(role_->status().message(),
              AllOf(HasSubstr("the device cannot compute a batch of "), Not(HasSubstr("\n"))));
}

TEST_F(ServeRoleTest, AnswersARequestWithImprovingMappings) {
  AddNetwork();
  Start();
  std::vector<double> cycles;
  FindMappingOptions options;
  options.better = [&](const v1::FoundMapping& better) { cycles.push_back(better.cycles()); };
  // The agent's share of the time must be long enough for a batch on a busy machine.
  const auto found = Ask(LayersRequest(60, 3), options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->interrupted());
  EXPECT_THAT(Metrics(), Not(HasSubstr("mallocmuzero_serve_batch_rows_count 0")));
  EXPECT_GT(found->gain(), 0);
  ASSERT_FALSE(cycles.empty());
  EXPECT_TRUE(std::is_sorted(cycles.rbegin(), cycles.rend()));
  EXPECT_LE(found->cycles(), cycles.back());
  EXPECT_THAT(Metrics(), HasSubstr("mallocmuzero_serve_requests_total{outcome=\"ok\"} 1"));
}

TEST_F(ServeRoleTest, AnErrorAboutALongNameReachesTheClient) {
  Start();
  v1::FindMappingRequest request;
  request.set_budget_seconds(1);
  request.mutable_hlo()->set_hardware("tpu_v4i");
  request.mutable_hlo()->set_all_hbm(
      absl::StrCat("HloModule m, is_scheduled=true\n\nENTRY %main {\n  ROOT %",
                   std::string(100'000, 'x'), " = f32[1099511627776,1024] parameter(0)\n}\n"));
  const absl::Status status = Ask(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("hlo.all_hbm:4:1: %xxx"),
                    HasSubstr("xxx: expected arrays of at most 2^50 bytes")));
  EXPECT_LT(status.message().size(), 3000);
}

TEST_F(ServeRoleTest, ConcurrentSearchesShareBatches) {
  AddNetwork();
  config_.set_evaluators(1);
  config_.set_batch_wait_microseconds(100'000);
  Start();
  // Not all batches are in the bucket of one search.
  const auto some_are_shared = [this] {
    const std::string metrics = Metrics();
    const auto number = [&](const std::string& name) {
      const size_t at = metrics.find(name);
      return at == std::string::npos ? 0 : std::atof(metrics.c_str() + at + name.size());
    };
    return number("mallocmuzero_serve_batch_searches_count ") >
           number("mallocmuzero_serve_batch_searches_bucket{le=\"1\"} ");
  };
  v1::FindMappingRequest request = LayersRequest(30, 30);
  request.set_solver("agent");
  FindMappingOptions options;
  options.stop = some_are_shared;
  std::thread other([&] { (void)Ask(request, options); });
  (void)Ask(request, options);
  other.join();
  EXPECT_TRUE(some_are_shared());
}

TEST_F(ServeRoleTest, ACancelledSearchFreesItsPlace) {
  Start();
  const auto client = LongSearch();
  ASSERT_TRUE(Await([&] { return client->begun.load(); }));
  EXPECT_EQ(Info().running_now(), 1);
  End(*client);
  EXPECT_TRUE(Await([&] { return Info().running_now() == 0; }));
  // The client keeps what it has got.
  EXPECT_TRUE(!client->found.ok() || client->found->interrupted());
  EXPECT_TRUE(Await([&] { return absl::StrContains(Metrics(), "{outcome=\"cancelled\"} 1"); }));
}

TEST_F(ServeRoleTest, FiguresAreOfNowHoweverSeldomItLooksForACheckpoint) {
  config_.set_reload_seconds(3600);
  Start();
  const auto client = LongSearch();
  EXPECT_TRUE(Await([&] { return absl::StrContains(Metrics(), "mallocmuzero_serve_running 1"); }));
  End(*client);
  EXPECT_TRUE(Await([&] { return absl::StrContains(Metrics(), "mallocmuzero_serve_running 0"); }));
}

TEST_F(ServeRoleTest, RefusesMoreThanMayWait) {
  config_.set_searches(1);
  Start();
  const auto running = LongSearch();
  ASSERT_TRUE(Await([&] { return running->begun.load(); }));
  const auto waiting = LongSearch();
  ASSERT_TRUE(Await([&] { return Info().waiting_now() == 1; }));
  EXPECT_EQ(Ask(LayersRequest(5, 1)).status().code(), absl::StatusCode::kResourceExhausted);
  // A waiting call that is cancelled leaves the queue.
  End(*waiting);
  EXPECT_TRUE(Await([&] { return Info().waiting_now() == 0; }));
  EXPECT_FALSE(waiting->begun);
  End(*running);
}

TEST_F(ServeRoleTest, AWaitingCallEndsAtItsDeadline) {
  config_.set_searches(1);
  Start();
  const auto running = LongSearch();
  ASSERT_TRUE(Await([&] { return running->begun.load(); }));
  FindMappingOptions options;
  options.timeout = absl::Milliseconds(200);
  EXPECT_EQ(Ask(LayersRequest(5, 1), options).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Await([&] { return Info().waiting_now() == 0; }));
  End(*running);
}

TEST_F(ServeRoleTest, RefusesAProgramThatIsTooLarge) {
  config_.set_max_program_bytes(1000);
  Start();
  const auto refused = Ask(LayersRequest(60, 1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("this server takes at most 1000 (max_program_bytes)"));
}

TEST_F(ServeRoleTest, AStoppingServerSendsTheBestSoFar) {
  config_.set_searches(1);
  Start();
  const auto running = LongSearch();
  ASSERT_TRUE(Await([&] { return running->begun.load(); }));
  const auto waiting = LongSearch();
  ASSERT_TRUE(Await([&] { return Info().waiting_now() == 1; }));
  role_->Stop(absl::Minutes(1));
  running->thread.join();
  waiting->thread.join();
  ASSERT_TRUE(running->found.ok()) << running->found.status();
  EXPECT_TRUE(running->found->interrupted());
  EXPECT_EQ(waiting->found.status().code(), absl::StatusCode::kUnavailable);
}

// A lease on the new checkpoint stands for a large file on a slow disk: the server cannot open the
// file until the lease is given up.
TEST_F(ServeRoleTest, AStoppingServerWaitsForNoCheckpointBeforeItAnswers) {
  AddNetwork();
  const std::string other = folder_ + "/other";
  std::filesystem::copy_file(folder_ + "/network", other);
  const int file = open(other.c_str(), O_RDWR | O_CLOEXEC);
  // The signal that somebody wants to open the file; by default it would end the process.
  if (fcntl(file, F_SETSIG, SIGURG) != 0 || fcntl(file, F_SETLEASE, F_WRLCK) != 0) {
    close(file);
    GTEST_SKIP() << "this file system has no leases";
  }
  config_.set_reload_seconds(0.01);
  Start();
  const auto running = LongSearch();
  EXPECT_TRUE(Await([&] { return running->begun.load(); }));
  std::filesystem::rename(other, folder_ + "/network");
  EXPECT_TRUE(Await([&] { return fcntl(file, F_GETLEASE) != F_WRLCK; }));
  std::thread stop([this] { role_->Stop(absl::Minutes(1)); });
  EXPECT_TRUE(Await([&] { return running->ended.load(); }, absl::Seconds(20)));
  close(file);
  stop.join();
  running->thread.join();
  EXPECT_TRUE(running->found.ok()) << running->found.status();
}

TEST_F(ServeRoleTest, SeveralThreadsMayStopIt) {
  Start();
  const auto running = LongSearch();
  ASSERT_TRUE(Await([&] { return running->begun.load(); }));
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([this] { role_->Stop(absl::Minutes(1)); });
  }
  for (std::thread& thread : threads) thread.join();
  running->thread.join();
  ASSERT_TRUE(running->found.ok()) << running->found.status();
  EXPECT_TRUE(running->found->interrupted());
}

TEST_F(ServeRoleTest, NeedsTheCertificatesAndTheToken) {
  const TestCertificates certificates = MakeTestCertificates();
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  };
  write("ca", certificates.ca);
  write("certificate", certificates.certificate);
  write("key", certificates.key);
  write("token", "a token of the test\n");
  v1::Security files;
  files.set_ca_file("ca");
  files.set_certificate_file("certificate");
  files.set_key_file("key");
  files.set_token_file("token");
  security_ = *Security::Load(files, folder_);
  Start();
  EXPECT_TRUE(Ask(LayersRequest(5, 0.1)).ok());
  files.clear_token_file();
  security_ = *Security::Load(files, folder_);
  EXPECT_EQ(Ask(LayersRequest(5, 0.1)).status().code(), absl::StatusCode::kUnauthenticated);
  const Security insecure;
  const auto plain = v1::Mapper::NewStub(MakeChannel(role_->address(), insecure));
  FindMappingOptions options;
  options.timeout = absl::Seconds(2);
  EXPECT_FALSE(FindMapping(*plain, insecure, LayersRequest(5, 0.1), options).ok());
}

TEST_F(ServeRoleTest, AnUnknownFieldCountsAsTheProgram) {
  config_.set_max_program_bytes(100'000);
  Start();
  v1::FindMappingRequest request = LayersRequest(5, 0.1);
  auto& unknown = *request.GetReflection()->MutableUnknownFields(&request);
  unknown.AddLengthDelimited(1000, std::string(1000, 'x'));
  EXPECT_TRUE(Ask(request).ok());
  unknown.AddLengthDelimited(1000, std::string(110'000, 'x'));
  const auto refused = Ask(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("this server takes at most 100000 (max_program_bytes)"));
}

// Calls a method with these bytes in place of a request.
grpc::Status CallWithBytes(const std::string& address, const Security& security,
                           const std::string& method, const std::string& bytes) {
  grpc::ClientContext context;
  PrepareCall(context, security, absl::Seconds(30));
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Notification done;
  grpc::GenericStub(MakeChannel(address, security))
      .UnaryCall(&context, "/mallocmuzero.v1.Mapper/" + method, {}, &request, &response,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  return status;
}

TEST_F(ServeRoleTest, LooksAtTheTokenBeforeTheRequest) {
  std::ofstream(folder_ + "/token") << "a token of the test\n";
  v1::Security files;
  files.set_token_file("token");
  security_ = *Security::Load(files, folder_);
  Start();
  const std::string no_message = "\xff\xff";
  for (const char* method : {"FindMapping", "GetServerInfo"}) {
    EXPECT_EQ(CallWithBytes(role_->address(), Security(), method, no_message).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  const grpc::Status status =
      CallWithBytes(role_->address(), *security_, "FindMapping", no_message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "not a FindMappingRequest");
  EXPECT_EQ(CallWithBytes(role_->address(), *security_, "GetServerInfo", std::string(5000, 'x'))
                .error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace mallocmuzero
