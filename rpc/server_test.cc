#include "rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/host_port.h"
#include "rpc/protocol.h"
#include "rpc/security.h"
#include "rpc/test_certificates.h"
#include "rpc/testing/await.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Await;
using ::testing::HasSubstr;

using SharedSecurity = std::shared_ptr<const Security>;

// A service whose status has the name "shard-a".
class NamedRole : public v1::Status::Service {
 public:
  explicit NamedRole(SharedSecurity security) : security_(std::move(security)) {}

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* /*request*/,
                         v1::RoleStatus* response) override {
    if (grpc::Status status = security_->CheckCaller(*context); !status.ok()) return status;
    response->set_name("shard-a");
    return grpc::Status::OK;
  }

 private:
  SharedSecurity security_;
};

class RpcServerTest : public ::testing::Test {
 protected:
  void StartServer(const SharedSecurity& security) {
    role_ = std::make_unique<NamedRole>(security);
    absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start({.address = "127.0.0.1:0",
                                                                          .security = security,
                                                                          .services = {role_.get()},
                                                                          .registry = &registry_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Calls the server as a client with these credentials.
  grpc::Status Call(const Security& security) {
    grpc::ClientContext context;
    PrepareCall(context, security, absl::Seconds(20));
    v1::RoleStatus response;
    const auto stub = v1::Status::NewStub(MakeChannel(server_->address(), security));
    return stub->GetStatus(&context, {}, &response);
  }

  // A new folder, as credentials follow their files. It is empty.
  std::string NewFolder() {
    const std::string folder = absl::StrCat(folder_, "/rpc_server_test_", folders_++);
    std::filesystem::create_directory(folder);
    return folder;
  }

  SharedSecurity WithToken(const std::string& token) { return WithToken(token, NewFolder()); }
  static SharedSecurity WithToken(const std::string& token, const std::string& folder) {
    std::ofstream(folder + "/token") << token << '\n';
    v1::Security config;
    config.set_token_file("token");
    return *Security::Load(config, folder);
  }

  SharedSecurity WithTls(const TestCertificates& certificates, const std::string& ca) {
    return WithTls(certificates, ca, NewFolder());
  }
  static SharedSecurity WithTls(const TestCertificates& certificates, const std::string& ca,
                                const std::string& folder) {
    std::ofstream(folder + "/ca.pem") << ca;
    std::ofstream(folder + "/cert.pem") << certificates.certificate;
    std::ofstream(folder + "/key.pem") << certificates.key;
    v1::Security config;
    config.set_ca_file("ca.pem");
    config.set_certificate_file("cert.pem");
    config.set_key_file("key.pem");
    return *Security::Load(config, folder);
  }

  const std::string folder_ = ::testing::TempDir();
  int folders_ = 0;
  prometheus::Registry registry_;
  std::unique_ptr<NamedRole> role_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(RpcServerTest, AnswersACallerOfTheSameVersion) {
  StartServer(std::make_shared<Security>());
  EXPECT_TRUE(Call(Security()).ok());
}

TEST_F(RpcServerTest, AsksNoProxyForAServerOfThisMachine) {
  constexpr const char* kVariables[] = {"http_proxy", "https_proxy", "grpc_proxy"};
  StartServer(std::make_shared<Security>());
  for (const char* variable : kVariables) setenv(variable, "http://127.0.0.1:1", /*replace=*/1);
  EXPECT_TRUE(Call(Security()).ok());
  for (const char* variable : kVariables) unsetenv(variable);
}

TEST_F(RpcServerTest, TheProxyForDownloadsGetsNoCalls) {
  StartServer(std::make_shared<Security>());
  HostPort address = *ParseHostPort(server_->address());
  address.host = "0.0.0.0";  // is this machine, but no loopback address
  const auto answers = [&address] {
    grpc::ClientContext context;
    PrepareCall(context, Security(), absl::Seconds(20));
    v1::RoleStatus response;
    return v1::Status::NewStub(MakeChannel(ToString(address), Security()))
        ->GetStatus(&context, {}, &response)
        .ok();
  };
  setenv("http_proxy", "http://127.0.0.1:1", /*replace=*/1);
  EXPECT_TRUE(answers());
  setenv("grpc_proxy", "http://127.0.0.1:1", /*replace=*/1);
  for (const char* exceptions : {"no_grpc_proxy", "no_proxy"}) unsetenv(exceptions);
  EXPECT_FALSE(answers());
  unsetenv("http_proxy");
  unsetenv("grpc_proxy");
}

TEST_F(RpcServerTest, RefusesAnotherProtocolVersionAndNoneAtAll) {
  StartServer(std::make_shared<Security>());
  const auto stub = v1::Status::NewStub(MakeChannel(server_->address(), Security()));
  v1::RoleStatus response;
  grpc::ClientContext newer;
  newer.AddMetadata(kProtocolKey, absl::StrCat(kProtocolVersion + 1));
  const grpc::Status status = stub->GetStatus(&newer, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("'2'"), HasSubstr("same release")));
  grpc::ClientContext none;
  EXPECT_EQ(stub->GetStatus(&none, {}, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(RpcServerTest, RefusesAWrongTokenAndNone) {
  const SharedSecurity ours = WithToken("correct-horse-battery");
  StartServer(ours);
  EXPECT_TRUE(Call(*ours).ok());
  EXPECT_EQ(Call(*WithToken("correct-horse-batterx")).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call(Security()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(RpcServerTest, RefusesAnUntrustedCertificateAndNone) {
  const TestCertificates ours = MakeTestCertificates();
  const TestCertificates theirs = MakeTestCertificates();
  StartServer(WithTls(ours, ours.ca));
  EXPECT_TRUE(Call(*WithTls(ours, ours.ca)).ok());
  // This client trusts the server, but the server does not trust it.
  EXPECT_EQ(Call(*WithTls(theirs, ours.ca)).error_code(), grpc::StatusCode::UNAVAILABLE);
  // The server trusts this client, but the client does not trust it.
  EXPECT_EQ(Call(*WithTls(ours, theirs.ca)).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Call(Security()).error_code(),
              AnyOf(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED));
}

TEST_F(RpcServerTest, TakesANewTokenWithoutARestart) {
  const std::string folder = NewFolder();
  const std::string before = "correct-horse-battery";
  const std::string after = "staple-correct-horse";
  StartServer(WithToken(before, folder));
  const SharedSecurity renewed = WithToken(after);
  EXPECT_FALSE(Call(*renewed).ok());
  // While the token is replaced, both are valid.
  std::ofstream(folder + "/token") << after << '\n' << before << '\n';
  EXPECT_TRUE(Await([&] { return Call(*renewed).ok(); }));
  const SharedSecurity old = WithToken(before);
  EXPECT_TRUE(Call(*old).ok());
  std::ofstream(folder + "/token") << after << '\n';
  EXPECT_TRUE(Await([&] { return !Call(*old).ok(); }));
  EXPECT_TRUE(Call(*renewed).ok());
}

TEST_F(RpcServerTest, TakesNewCertificatesWithoutARestart) {
  const std::string folder = NewFolder();
  const TestCertificates before = MakeTestCertificates();
  const TestCertificates after = MakeTestCertificates();
  StartServer(WithTls(before, before.ca, folder));
  EXPECT_TRUE(Call(*WithTls(before, before.ca)).ok());
  std::ofstream(folder + "/ca.pem") << after.ca;
  std::ofstream(folder + "/cert.pem") << after.certificate;
  std::ofstream(folder + "/key.pem") << after.key;
  const SharedSecurity renewed = WithTls(after, after.ca);
  EXPECT_TRUE(Await([&] { return Call(*renewed).ok(); }));
  EXPECT_FALSE(Call(*WithTls(before, before.ca)).ok());
}

TEST_F(RpcServerTest, NamesTheAddressThatIsTaken) {
  StartServer(std::make_shared<Security>());
  NamedRole other(std::make_shared<Security>());
  const auto second = RpcServer::Start({.address = server_->address(), .services = {&other}});
  EXPECT_THAT(second.status().message(), HasSubstr(server_->address()));
}

TEST_F(RpcServerTest, DoesNotListenOnTheNetworkUnprotected) {
  NamedRole role(std::make_shared<Security>());
  EXPECT_FALSE(RpcServer::Start({.address = "0.0.0.0:0", .services = {&role}}).ok());
}

TEST_F(RpcServerTest, CountsCallsByMethodAndCode) {
  StartServer(std::make_shared<Security>());
  ASSERT_TRUE(Call(Security()).ok());
  server_->Shutdown(absl::Seconds(5));
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry_.Collect()),
              HasSubstr("mallocmuzero_rpc_server_seconds_count{code=\"OK\",method=\""
                        "mallocmuzero.v1.Status.GetStatus\"} 1"));
}

// Sends one message to the method with this path and returns the bytes of the first answer.
std::string CallUnary(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      const std::string& message) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto call = grpc::GenericStub(channel).PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  const grpc::Slice slice(message);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  queue.Next(&tag, &ok);
  grpc::Slice bytes;
  const std::string text = ok && answer.DumpToSingleSlice(&bytes).ok()
                               ? std::string(bytes.begin(), bytes.end())
                               : "no answer";
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  return text;
}

TEST_F(RpcServerTest, AnswersHealthChecksAndReflection) {
  StartServer(std::make_shared<Security>());
  const auto channel = MakeChannel(server_->address(), Security());
  // The request is an empty HealthCheckRequest; the answer {status: SERVING} has the bytes 08 01.
  EXPECT_EQ(CallUnary(channel, "/grpc.health.v1.Health/Check", ""), "\x08\x01");
  // The request is a ServerReflectionRequest {list_services: "*"}.
  EXPECT_THAT(CallUnary(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                        "\x3a\x01*"),
              HasSubstr("mallocmuzero.v1.Status"));
}

// Connects to the server by TCP, sends `bytes` and closes the connection.
void SendBytes(const std::string& address, const std::string& bytes) {
  testing::TcpSocket socket;
  ASSERT_TRUE(socket.Connect(address));
  send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

TEST_F(RpcServerTest, HostileBytesDoNoHarm) {
  StartServer(std::make_shared<Security>());
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = i % 2 == 0 ? preface : "";
    for (uint64_t n = random() % 2000; n > 0; --n) bytes.push_back(random());
    SendBytes(server_->address(), bytes);
  }
  SendBytes(server_->address(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(Call(Security()).ok());
}

TEST_F(RpcServerTest, RefusesMetadataAboveTheLimit) {
  StartServer(std::make_shared<Security>());
  grpc::ClientContext context;
  PrepareCall(context, Security(), absl::Seconds(20));
  context.AddMetadata("large", std::string(20 << 10, 'x'));
  v1::RoleStatus response;
  const auto stub = v1::Status::NewStub(MakeChannel(server_->address(), Security()));
  EXPECT_EQ(stub->GetStatus(&context, {}, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Call(Security()).ok());
}

TEST_F(RpcServerTest, RefusesAMessageAboveTheLimit) {
  StartServer(std::make_shared<Security>());
  grpc::ClientContext context;
  PrepareCall(context, Security(), absl::Seconds(20));
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto channel =
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments);
  // The request is valid but for an unknown field of 65 MiB, above kMaxMessageBytes.
  v1::GetStatusRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(65 << 20, 'x'));
  v1::RoleStatus response;
  EXPECT_EQ(v1::Status::NewStub(channel)->GetStatus(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Call(Security()).ok());
}

// The message has 60 KB as it is sent and 32 MiB after that. A server that decompresses it does so
// before it checks the caller.
TEST_F(RpcServerTest, DecompressesNoMessage) {
  StartServer(std::make_shared<Security>());
  grpc::ClientContext context;
  PrepareCall(context, Security(), absl::Seconds(20));
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::GetStatusRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(32 << 20, '\0'));
  v1::RoleStatus response;
  const auto stub = v1::Status::NewStub(MakeChannel(server_->address(), Security()));
  const grpc::Status status = stub->GetStatus(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("gzip"));
  EXPECT_TRUE(Call(Security()).ok());
}

}  // namespace
}  // namespace mallocmuzero
