#include "dashboard/http_server.h"

#include <httplib.h>
#include <openssl/crypto.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "rpc/host_port.h"

namespace mallocmuzero {
namespace {

// Enough for several open pages: a page asks at most three questions at once.
constexpr size_t kThreads = 8;

// The largest request: a line and a few headers need far less.
constexpr size_t kMostRequestBytes = 16 << 10;

// A connection is closed after this time without a request, because the destructor has to wait for
// open connections.
constexpr time_t kIdleSeconds = 1;

constexpr char kJson[] = "application/json; charset=utf-8";
constexpr char kApi[] = "/api/";

constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

void SetError(int status, absl::string_view message, httplib::Response& response) {
  response.status = status;
  const nlohmann::json body = {{"error", std::string(message)}};
  response.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kJson);
}

int HttpStatusOf(const absl::Status& status) {
  if (absl::IsNotFound(status)) return 404;
  return absl::IsInvalidArgument(status) ? 400 : 500;
}

bool CarriesToken(const httplib::Request& request, const std::string& token) {
  const std::string given = request.get_header_value("Authorization");
  const std::string wanted = absl::StrCat("Bearer ", token);
  return given.size() == wanted.size() &&
         CRYPTO_memcmp(given.data(), wanted.data(), given.size()) == 0;
}

// Whether the Host header names this machine: a host with any port, or without one.
bool NamesLoopback(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  std::optional<HostPort> parsed = ParseHostPort(host);
  if (!parsed.has_value()) parsed = ParseHostPort(absl::StrCat(host, ":80"));
  return parsed.has_value() && IsLoopback(*parsed);
}

void AnswerQuestion(const HttpOptions& options, const httplib::Request& request,
                    httplib::Response& response) {
  if (!options.token.empty() && !CarriesToken(request, options.token)) {
    response.set_header("WWW-Authenticate", "Bearer");
    SetError(401, "this dashboard needs a token", response);
    return;
  }
  ApiRequest question;
  question.path = request.path.substr(sizeof(kApi) - 1);
  for (const auto& [name, value] : request.params) question.query[name] = value;
  const absl::StatusOr<std::string> answer = options.answer(question);
  if (!answer.ok()) {
    SetError(HttpStatusOf(answer.status()), answer.status().message(), response);
    return;
  }
  response.set_content(*answer, kJson);
}

void AddRoutes(const HttpOptions& options, bool loopback, absl::Span<const PageFile> page,
               httplib::Server& http) {
  http.set_pre_routing_handler(
      [loopback](const httplib::Request& request, httplib::Response& response) {
        IgnoreRanges(request);
        for (const auto& [name, value] : kHeaders) response.set_header(name, value);
        if (loopback && !NamesLoopback(request)) {
          SetError(421, "the Host header must name this machine, such as localhost", response);
          return httplib::Server::HandlerResponse::Handled;
        }
        return RefuseOtherMethods(request, response) ? httplib::Server::HandlerResponse::Handled
                                                     : httplib::Server::HandlerResponse::Unhandled;
      });
  for (const PageFile& file : page) {
    // The path of a page has no characters that a regular expression treats specially but the dot,
    // so it is compared once more.
    http.Get(std::string(file.path),
             [file](const httplib::Request& request, httplib::Response& response) {
               if (request.path != file.path) return SetError(404, "no such page", response);
               response.set_content(file.content.data(), file.content.size(),
                                    std::string(file.content_type));
             });
  }
  http.Get("/api/.*", [options](const httplib::Request& request, httplib::Response& response) {
    AnswerQuestion(options, request, response);
  });
  http.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) SetError(response.status, "no such page", response);
  });
}

}  // namespace

std::string ApiRequest::Get(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpOptions& options,
                                                               absl::Span<const PageFile> page) {
  std::optional<HostPort> parsed = ParseHostPort(options.address, /*least_port=*/0);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.address, ": host:port expected, such as 127.0.0.1:8080"));
  }
  if (!IsLoopback(*parsed) && options.token.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.address, ": a token is needed on an address that is not loopback"));
  }
  std::unique_ptr<HttpServer> server(new HttpServer());
  httplib::Server& http = server->listener_.http();
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  http.set_payload_max_length(kMostRequestBytes);
  http.set_keep_alive_timeout(kIdleSeconds);
  AddRoutes(options, IsLoopback(*parsed), page, http);
  MMZ_RETURN_IF_ERROR(server->listener_.Listen(options.address, *parsed));
  server->address_ = ToString(*parsed);
  return server;
}

}  // namespace mallocmuzero
