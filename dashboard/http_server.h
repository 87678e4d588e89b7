// Serves the dashboard's page and its JSON over HTTP.

#ifndef MALLOCMUZERO_DASHBOARD_HTTP_SERVER_H_
#define MALLOCMUZERO_DASHBOARD_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rpc/http_listener.h"

namespace mallocmuzero {

// A file of the page. The strings must outlive the server.
struct PageFile {
  absl::string_view path;  // in the URL, such as "/dashboard.js"
  absl::string_view content_type;
  absl::string_view content;
};

// The page that is built into the binary: dashboard/page/dist.
absl::Span<const PageFile> BuiltInPage();

// A question of the page.
struct ApiRequest {
  std::string path;                          // behind "/api/", such as "run"
  std::map<std::string, std::string> query;  // decoded

  // The value, or "" if the question has none of that name.
  std::string Get(const std::string& name) const;
};

struct HttpOptions {
  std::string address;  // host:port; port 0 takes any free port
  std::string token;    // questions must carry it ("Authorization: Bearer TOKEN"); empty: none

  // Answers a question in JSON. Called from several threads at once. NotFound and InvalidArgument
  // become 404 and 400, other errors 500, all with the message.
  std::function<absl::StatusOr<std::string>(const ApiRequest&)> answer;
};

// Serves while it lives. There are no files but those of `page`, so no path of a URL reaches the
// disk. Every response has a content security policy that allows scripts, styles and connections of
// this server only. The page itself holds nothing secret and needs no token. On a loopback address,
// requests with another name in their Host header are refused: a site of the Internet whose name
// leads to 127.0.0.1 must not read the answers. No TLS.
class HttpServer {
 public:
  // InvalidArgument names the address if it is malformed, if the server cannot listen on it, or if
  // it is not a loopback address and there is no token.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const HttpOptions& options,
                                                            absl::Span<const PageFile> page);

  // host:port with the port that the server listens on.
  const std::string& address() const { return address_; }

 private:
  HttpServer() = default;

  std::string address_;
  HttpListener listener_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_HTTP_SERVER_H_
