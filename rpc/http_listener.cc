#include "rpc/http_listener.h"

#include <httplib.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {

void IgnoreRanges(const httplib::Request& request) {
  // The server owns the request and does not declare it const. It has no setting for this.
  const_cast<httplib::Request&>(request).ranges.clear();
}

HttpListener::HttpListener() : http_(std::make_unique<httplib::Server>()) {
  http_->set_pre_routing_handler([](const httplib::Request& request, httplib::Response&) {
    IgnoreRanges(request);
    return httplib::Server::HandlerResponse::Unhandled;
  });
}

HttpListener::~HttpListener() {
  http_->stop();
  if (thread_.joinable()) thread_.join();
}

absl::Status HttpListener::Listen(const std::string& given, HostPort& address) {
  // Replaces the library's SO_REUSEPORT, which would let a second process share the port.
  http_->set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  const int port = address.port;
  const int bound = port == 0 ? http_->bind_to_any_port(address.host)
                    : http_->bind_to_port(address.host, port) ? port
                                                              : -1;
  if (bound <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, ": cannot listen on this address; is it in use?"));
  }
  address.port = bound;
  thread_ = std::thread([this] { http_->listen_after_bind(); });
  // Waits until the server runs, since stop() has no effect before. This is short: the address is
  // bound already.
  while (!http_->is_running()) std::this_thread::yield();
  return absl::OkStatus();
}

}  // namespace mallocmuzero
