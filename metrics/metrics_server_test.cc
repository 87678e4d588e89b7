#include "metrics/metrics_server.h"

#include <httplib.h>
#include <netinet/in.h>
#include <prometheus/counter.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/host_port.h"
#include "rpc/testing/await.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<MetricsServer> Listen(const std::shared_ptr<prometheus::Registry>& registry) {
  absl::StatusOr<std::unique_ptr<MetricsServer>> server =
      MetricsServer::Listen("127.0.0.1:0", registry);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

TEST(MetricsServer, ServesTheRegistryAndTheProcess) {
  const auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildCounter()
      .Name("apples_total")
      .Help("Eaten.")
      .Register(*registry)
      .Add({})
      .Increment(3);
  const std::unique_ptr<MetricsServer> server = Listen(registry);
  ASSERT_NE(server, nullptr);
  const httplib::Result result = httplib::Client("http://" + server->address()).Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_THAT(result->get_header_value("Content-Type"), StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(result->body, HasSubstr("# HELP apples_total Eaten.\n# TYPE apples_total counter\n"
                                      "apples_total 3\n"));
  EXPECT_THAT(result->body, HasSubstr("\nprocess_resident_memory_bytes "));
  EXPECT_THAT(result->body, HasSubstr("\nmallocmuzero_build_info{commit="));
}

TEST(MetricsServer, SaysThatItLives) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  const httplib::Result result = httplib::Client("http://" + server->address()).Get("/healthz");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  const httplib::Result other = httplib::Client("http://" + server->address()).Get("/etc/passwd");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 404);
}

TEST(MetricsServer, AnswersInWholeWhereRangesAreAskedFor) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  const httplib::Result result =
      httplib::Client("http://" + server->address()).Get("/healthz", {{"Range", "bytes=0-,0-,0-"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "ok\n");
}

// A server that reads the body, which is missing here, answers 400 after its time to read. A
// compressed body could fill its memory.
TEST(MetricsServer, ReadsNoBody) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  testing::TcpSocket client;
  ASSERT_TRUE(client.Connect(server->address()));
  const std::string request =
      "POST /metrics HTTP/1.1\r\nContent-Encoding: br\r\nContent-Length: 10000\r\n\r\n";
  ASSERT_EQ(send(client.fd(), request.data(), request.size(), MSG_NOSIGNAL), std::ssize(request));
  char start[12] = {};
  ASSERT_EQ(recv(client.fd(), start, sizeof(start), MSG_WAITALL), std::ssize(start));
  EXPECT_EQ(std::string(start, sizeof(start)), "HTTP/1.1 404");
}

TEST(MetricsServer, SaysWhyItIsNotWell) {
  const auto server =
      MetricsServer::Listen("127.0.0.1:0", std::make_shared<prometheus::Registry>(),
                            [] { return absl::UnavailableError("disk: no answer for 7 s"); });
  ASSERT_TRUE(server.ok()) << server.status();
  const httplib::Result result = httplib::Client("http://" + (*server)->address()).Get("/healthz");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 503);
  EXPECT_EQ(result->body, "disk: no answer for 7 s\n");
}

TEST(MetricsServer, IsWellWhileItIsNotReady) {
  std::atomic<bool> ready = false;
  const auto server = MetricsServer::Listen(
      "127.0.0.1:0", std::make_shared<prometheus::Registry>(), [] { return absl::OkStatus(); },
      /*access=*/{},
      [&ready] {
        return ready ? absl::OkStatus() : absl::UnavailableError("draining: inserts are refused");
      });
  ASSERT_TRUE(server.ok()) << server.status();
  httplib::Client client("http://" + (*server)->address());
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  const httplib::Result result = client.Get("/readyz");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 503);
  EXPECT_EQ(result->body, "draining: inserts are refused\n");
  ready = true;
  EXPECT_EQ(client.Get("/readyz")->status, 200);
}

TEST(MetricsServer, AsksForItsToken) {
  const auto server = MetricsServer::Listen(
      "127.0.0.1:0", std::make_shared<prometheus::Registry>(), [] { return absl::OkStatus(); },
      [](absl::string_view authorization) { return authorization == "Bearer right"; });
  ASSERT_TRUE(server.ok()) << server.status();
  httplib::Client client("http://" + (*server)->address());
  EXPECT_EQ(client.Get("/metrics")->status, 401);
  EXPECT_EQ(client.Get("/metrics", {{"Authorization", "Bearer wrong"}})->status, 401);
  EXPECT_EQ(client.Get("/metrics", {{"Authorization", "Bearer right"}})->status, 200);
  EXPECT_EQ(client.Get("/healthz")->status, 200);
}

TEST(MetricsServer, KeepsNoConnectionThatItWouldHaveToWaitFor) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  httplib::Client scraper("http://" + server->address());
  scraper.set_keep_alive(true);
  const httplib::Result result = scraper.Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->get_header_value("Connection"), "close");
}

// The descriptor of this process that listens on the port; -1 if there is none.
int ListeningSocket(uint16_t port) {
  constexpr int kMostDescriptors = 1024;
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in own = {};
    size = sizeof(own);
    getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
    if (own.sin_family == AF_INET && ntohs(own.sin_port) == port) return fd;
  }
  return -1;
}

// The system may fail to take a connection, such as for lack of memory.
TEST(MetricsServer, ListensAgainAfterAFailure) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  const int listening = ListeningSocket(ParseHostPort(server->address())->port);
  ASSERT_GE(listening, 0);
  ASSERT_EQ(shutdown(listening, SHUT_RDWR), 0);
  EXPECT_TRUE(testing::Await([&] {
    const httplib::Result result = httplib::Client("http://" + server->address()).Get("/healthz");
    return result && result->status == 200;
  }));
}

TEST(MetricsServer, EndsWhileItDoesNotListen) {
  std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  const int listening = ListeningSocket(ParseHostPort(server->address())->port);
  ASSERT_GE(listening, 0);
  ASSERT_EQ(shutdown(listening, SHUT_RDWR), 0);
  server = nullptr;
}

TEST(MetricsServer, ListensOnIpv6) {
  const absl::StatusOr<std::unique_ptr<MetricsServer>> server =
      MetricsServer::Listen("[::1]:0", std::make_shared<prometheus::Registry>());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->address(), StartsWith("[::1]:"));
  const httplib::Result result = httplib::Client("http://" + (*server)->address()).Get("/healthz");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
}

TEST(MetricsServer, DoesNotShareItsPort) {
  const std::unique_ptr<MetricsServer> server = Listen(std::make_shared<prometheus::Registry>());
  ASSERT_NE(server, nullptr);
  const absl::Status second =
      MetricsServer::Listen(server->address(), std::make_shared<prometheus::Registry>()).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.message()), StartsWith(server->address()));
}

TEST(MetricsServer, RefusesWhatIsNoAddress) {
  for (const char* address : {"", "9464", ":9464", "127.0.0.1:", "127.0.0.1:65536", "host:-1"}) {
    EXPECT_EQ(
        MetricsServer::Listen(address, std::make_shared<prometheus::Registry>()).status().code(),
        absl::StatusCode::kInvalidArgument)
        << address;
  }
}

}  // namespace
}  // namespace mallocmuzero
