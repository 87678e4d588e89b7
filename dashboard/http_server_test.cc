#include "dashboard/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr PageFile kTestPage[] = {{"/", "text/html", "<p>page</p>"},
                                  {"/code.js", "text/javascript", "1"}};

absl::StatusOr<std::string> Echo(const ApiRequest& request) {
  if (request.path == "missing") return absl::NotFoundError("no \"such\" <thing>");
  if (request.path == "bad") return absl::InvalidArgumentError("axis");
  if (request.path == "broken") return absl::InternalError("disk");
  return absl::StrCat("{\"path\":\"", request.path, "\",\"name\":\"", request.Get("name"), "\"}");
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const std::string& token = {}, const std::string& address = "127.0.0.1:0") {
    absl::StatusOr<std::unique_ptr<HttpServer>> server =
        HttpServer::Listen({.address = address, .token = token, .answer = Echo}, kTestPage);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("http://" + server_->address());
  }

  // The response of GET, or an empty one with status -1.
  httplib::Response Get(const std::string& path, const httplib::Headers& headers = {}) {
    const httplib::Result result = client_->Get(path, headers);
    return result ? *result : httplib::Response{};
  }

  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, ServesThePageAndAnswers) {
  Start();
  const httplib::Response page = Get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<p>page</p>");
  EXPECT_THAT(page.get_header_value("Content-Type"), HasSubstr("text/html"));
  EXPECT_EQ(Get("/code.js").body, "1");
  const httplib::Response answer = Get("/api/echo?name=a%2Fb%20c");
  EXPECT_EQ(answer.body, "{\"path\":\"echo\",\"name\":\"a/b c\"}");
  EXPECT_THAT(answer.get_header_value("Content-Type"), HasSubstr("application/json"));
}

TEST_F(HttpServerTest, EveryResponseHasAContentSecurityPolicy) {
  Start("secret");
  for (const char* path : {"/", "/api/echo", "/nothing"}) {
    const httplib::Response response = Get(path);
    const std::string policy = response.get_header_value("Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'")) << path;
    EXPECT_THAT(policy, HasSubstr("script-src 'self';")) << path;
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'")) << path;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << path;
    EXPECT_EQ(response.get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(response.get_header_value("Cache-Control"), "no-store") << path;
  }
}

TEST_F(HttpServerTest, MessagesOfErrorsAreJson) {
  Start();
  const httplib::Response missing = Get("/api/missing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, R"({"error":"no \"such\" <thing>"})");
  EXPECT_EQ(Get("/api/bad").status, 400);
  EXPECT_EQ(Get("/api/broken").status, 500);
}

TEST_F(HttpServerTest, NoPathLeadsOutOfThePage) {
  Start();
  for (const char* path :
       {"/etc/passwd", "/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd", "/codexjs", "/index.html", "/code.js/", "/.git/config"}) {
    const httplib::Response response = Get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.body, R"({"error":"no such page"})") << path;
  }
}

TEST_F(HttpServerTest, OnlyQuestionsNeedTheToken) {
  Start("secret");
  EXPECT_EQ(Get("/").status, 200);
  const httplib::Response without = Get("/api/echo");
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.get_header_value("WWW-Authenticate"), "Bearer");
  for (const char* wrong : {"Bearer", "Bearer secre", "Bearer secret2", "Basic secret", "secret"}) {
    EXPECT_EQ(Get("/api/echo", {{"Authorization", wrong}}).status, 401) << wrong;
  }
  EXPECT_EQ(Get("/api/echo", {{"Authorization", "Bearer secret"}}).status, 200);
}

// A site whose name leads to 127.0.0.1 makes the browser of a user ask this server.
TEST_F(HttpServerTest, RefusesForeignNamesOnLoopback) {
  Start();
  EXPECT_EQ(Get("/api/echo", {{"Host", "evil.example:8270"}}).status, 421);
  EXPECT_EQ(Get("/", {{"Host", "localhost.evil.example"}}).status, 421);
  EXPECT_EQ(Get("/", {{"Host", "localhost"}}).status, 200);
  EXPECT_EQ(Get("/", {{"Host", "[::1]:8270"}}).status, 200);
}

// A request of 8 KiB could otherwise ask for thousands of copies of the page.
TEST_F(HttpServerTest, AnswersInWholeWhereRangesAreAskedFor) {
  Start();
  for (const char* ranges : {"bytes=0-1", "bytes=0-,0-,0-"}) {
    const httplib::Response page = Get("/", {{"Range", ranges}});
    EXPECT_EQ(page.status, 200) << ranges;
    EXPECT_EQ(page.body, "<p>page</p>") << ranges;
    const httplib::Response missing = Get("/nothing", {{"Range", ranges}});
    EXPECT_EQ(missing.status, 404) << ranges;
    EXPECT_EQ(missing.body, R"({"error":"no such page"})") << ranges;
  }
}

// A client could otherwise fill the memory before it shows its token.
TEST_F(HttpServerTest, ReadsNoRequestWithoutEnd) {
  constexpr size_t kMostBytes = 64 << 20;  // far more than two sockets can keep
  Start("secret");
  for (const char* repeated : {"line", "name: value\r\n"}) {
    testing::TcpSocket client;
    ASSERT_TRUE(client.Connect(server_->address()));
    std::string part = "GET /api/echo HTTP/1.1\r\n";
    std::string more;
    for (int i = 0; i < 10'000; ++i) more += repeated;
    size_t sent = 0;
    for (ssize_t size = 0; size >= 0 && sent < kMostBytes; part = more) {
      size = send(client.fd(), part.data(), part.size(), MSG_NOSIGNAL);
      if (size > 0) sent += size;
    }
    EXPECT_LT(sent, kMostBytes) << repeated;
  }
  EXPECT_EQ(Get("/").status, 200);
}

TEST_F(HttpServerTest, AnswersToNoOtherMethod) {
  Start();
  const httplib::Result result = client_->Post("/api/echo", "{}", "application/json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 404);
  EXPECT_EQ(result->body, R"({"error":"no such page"})");
  EXPECT_EQ(Get("/").status, 200);
}

// What the server sends for these bytes until it closes the connection. The client keeps its side
// open.
std::string AnswersTo(const std::string& address, const std::string& bytes) {
  testing::TcpSocket client;
  EXPECT_TRUE(client.Connect(address));
  EXPECT_EQ(send(client.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  std::string answers;
  char buffer[4096];
  while (true) {
    const ssize_t size = recv(client.fd(), buffer, sizeof(buffer), 0);
    if (size <= 0) return answers;
    answers.append(buffer, size);
  }
}

// A compressed body of a few kilobytes would otherwise fill the memory without a token. The body is
// missing, so that a server that reads it answers 400 after its time to read.
TEST_F(HttpServerTest, ReadsNoBody) {
  Start("secret");
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "PRI"}) {
    for (const char* encoding : {"gzip", "br"}) {
      const std::string answers = AnswersTo(
          server_->address(),
          absl::StrCat(method, " /api/echo HTTP/1.1\r\nHost: localhost\r\n",
                       "Content-Encoding: ", encoding, "\r\nContent-Length: 10000\r\n\r\n"));
      EXPECT_THAT(answers, StartsWith("HTTP/1.1 404 ")) << method;
      EXPECT_THAT(answers, HasSubstr("Connection: close\r\n")) << method;
    }
  }
}

TEST_F(HttpServerTest, TakesNoBodyForTheNextRequest) {
  Start();
  const std::string next = "GET /code.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const char* method : {"GET", "HEAD", "POST"}) {
    const std::string answers = AnswersTo(
        server_->address(),
        absl::StrCat(method, " /nothing HTTP/1.1\r\nHost: localhost\r\n",
                     "Connection: keep-alive\r\nContent-Length: ", next.size(), "\r\n\r\n", next));
    EXPECT_THAT(answers, StartsWith("HTTP/1.1 404 ")) << method;
    EXPECT_THAT(answers, HasSubstr("Connection: close\r\n")) << method;
    EXPECT_THAT(answers, Not(HasSubstr("HTTP/1.1 200 "))) << method;
  }
}

TEST(HttpServer, NeedsATokenWhereOthersCanReachIt) {
  const auto server =
      HttpServer::Listen({.address = "0.0.0.0:0", .token = "", .answer = Echo}, kTestPage);
  EXPECT_TRUE(absl::IsInvalidArgument(server.status()));
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("0.0.0.0:0: a token is needed"));
  EXPECT_TRUE(
      HttpServer::Listen({.address = "0.0.0.0:0", .token = "x", .answer = Echo}, kTestPage).ok());
}

TEST(HttpServer, NamesAnAddressThatItCannotTake) {
  const auto first =
      HttpServer::Listen({.address = "127.0.0.1:0", .token = "", .answer = Echo}, kTestPage);
  ASSERT_TRUE(first.ok());
  const std::string address = (*first)->address();
  const auto second =
      HttpServer::Listen({.address = address, .token = "", .answer = Echo}, kTestPage);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address + ": cannot listen"));
  EXPECT_THAT(
      std::string(HttpServer::Listen({.address = "nowhere", .token = "", .answer = Echo}, kTestPage)
                      .status()
                      .message()),
      HasSubstr("host:port expected"));
}

TEST(BuiltInPage, HasTheFilesThatItRefersTo) {
  std::string html;
  for (const PageFile& file : BuiltInPage()) {
    EXPECT_FALSE(file.content.empty()) << file.path;
    if (file.path == "/") html = std::string(file.content);
  }
  EXPECT_THAT(html, HasSubstr("src=\"/dashboard.js\""));
  EXPECT_THAT(html, HasSubstr("href=\"/dashboard.css\""));
  // The content security policy forbids both.
  EXPECT_EQ(html.find("<style"), std::string::npos);
  EXPECT_EQ(html.find("style="), std::string::npos);
}

}  // namespace
}  // namespace mallocmuzero
