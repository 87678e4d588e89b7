#include "rpc/http_listener.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"

namespace mallocmuzero {
namespace {

constexpr char kHttpLogName[] = "http";

using Clock = std::chrono::steady_clock;

// The largest request with its headers: browsers and scrapers need a few kilobytes.
constexpr size_t kMostRequestBytes = 64 << 10;

// After an answer that ends a connection, the client's other bytes are taken for this time. A
// socket that is closed before would drop the answer.
constexpr std::chrono::seconds kLingerTime(1);

// A client that takes a little again and again would otherwise hold its thread, and the end of the
// server, for hours.
constexpr std::chrono::seconds kAnswerTime(30);

// The time between two tries to listen again.
constexpr absl::Duration kListenAgain = absl::Seconds(1);

bool IsRead(const httplib::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

// Whether bytes may follow the headers that are not the next request.
bool MayHaveBody(const httplib::Request& request) {
  return !IsRead(request) || request.has_header("Content-Length") ||
         request.has_header("Transfer-Encoding");
}

// Returns false if the socket has none of the events until then.
bool WaitFor(socket_t socket, int16_t events, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd entry = {.fd = socket, .events = events, .revents = 0};
    const int ready = poll(&entry, 1, std::max<int>(left.count(), 0));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// One request and its answer. The library's own stream bounds neither the length of a line nor the
// number of headers, so that a client could fill the memory before it shows its token.
class RequestStream : public httplib::Stream {
 public:
  // A client has `read_time` for its whole request, `write_time` for each part of the answer, and
  // kAnswerTime for the whole answer.
  RequestStream(socket_t socket, std::chrono::seconds read_time, std::chrono::seconds write_time)
      : socket_(socket), read_until_(Clock::now() + read_time), write_time_(write_time) {}

  // True if the request was too long or too slow, or its client has left.
  bool has_failed() const { return has_failed_; }

  // True if the client has sent more than the request, and the buffer has a part of it.
  bool has_rest() const { return begin_ < end_; }

  // Takes what the client still sends until it closes the connection, and keeps nothing of it. Ends
  // earlier at the bound of a request, or after `time`.
  void Discard(std::chrono::seconds time) {
    read_until_ = std::min(read_until_, Clock::now() + time);
    while (Receive() > 0) {
    }
  }

  bool is_readable() const override {
    return begin_ < end_ || WaitFor(socket_, POLLIN, read_until_);
  }
  bool is_writable() const override {
    return WaitFor(socket_, POLLOUT, std::min(write_until_, Clock::now() + write_time_));
  }

  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_) {
      const ssize_t received = Receive();
      has_failed_ = received <= 0;
      if (has_failed_) return received;
      begin_ = 0;
      end_ = received;
    }
    const size_t part = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_ + begin_, part);
    begin_ += part;
    return static_cast<ssize_t>(part);
  }

  ssize_t write(const char* from, size_t size) override {
    if (write_until_ == Clock::time_point::max()) write_until_ = Clock::now() + kAnswerTime;
    while (is_writable() && Clock::now() < write_until_) {
      const ssize_t written = send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (written >= 0 || (errno != EINTR && errno != EAGAIN)) return written;
    }
    return -1;
  }

  // Nobody asks for the addresses.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  // Fills the buffer. Returns the number of bytes, 0 at the end of the input, or -1.
  ssize_t Receive() {
    if (left_ == 0 || !WaitFor(socket_, POLLIN, read_until_)) return -1;
    while (true) {
      const ssize_t received = recv(socket_, buffer_, std::min(sizeof(buffer_), left_), 0);
      if (received > 0) left_ -= received;
      if (received >= 0 || errno != EINTR) return received;
    }
  }

  const socket_t socket_;
  Clock::time_point read_until_;
  const std::chrono::seconds write_time_;
  Clock::time_point write_until_ =
      Clock::time_point::max();  // from the first byte of the answer on
  bool has_failed_ = false;
  size_t left_ = kMostRequestBytes;  // how many bytes the client may still send
  char buffer_[4096] = {};
  size_t begin_ = 0;  // of what the buffer has
  size_t end_ = 0;
};

// Reads requests by RequestStream.
class BoundedServer : public httplib::Server {
 private:
  bool process_and_close_socket(socket_t socket) override {
    const std::chrono::seconds idle(keep_alive_timeout_sec_);
    bool answered = false;
    for (size_t left = keep_alive_max_count_; left > 0; --left) {
      if (svr_sock_ == INVALID_SOCKET || !WaitFor(socket, POLLIN, Clock::now() + idle)) break;
      RequestStream stream(socket, std::chrono::seconds(read_timeout_sec_),
                           std::chrono::seconds(write_timeout_sec_));
      bool is_last = false;
      bool is_whole = false;  // nothing of the request is left in the connection
      const auto look = [&is_whole](httplib::Request& request) {
        is_whole = !MayHaveBody(request);
        if (is_whole) return;
        // The library repeats this header in its answer.
        request.headers.erase("Connection");
        request.set_header("Connection", "close");
      };
      answered = process_request(stream, /*close_connection=*/left == 1, is_last, look);
      if (!answered || stream.has_failed()) break;
      // The rest of this request must not be taken for the next one.
      if (!is_whole || stream.has_rest()) {
        shutdown(socket, SHUT_WR);
        stream.Discard(kLingerTime);
        break;
      }
      if (is_last) break;
    }
    shutdown(socket, SHUT_RDWR);
    close(socket);
    return answered;
  }
};

}  // namespace

void IgnoreRanges(const httplib::Request& request) {
  // The server owns the request and does not declare it const. It has no setting for this.
  const_cast<httplib::Request&>(request).ranges.clear();
}

bool RefuseOtherMethods(const httplib::Request& request, httplib::Response& response) {
  if (IsRead(request)) return false;
  response.status = 404;
  return true;
}

HttpListener::HttpListener() : http_(std::make_unique<BoundedServer>()) {
  http_->set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    IgnoreRanges(request);
    return RefuseOtherMethods(request, response) ? httplib::Server::HandlerResponse::Handled
                                                 : httplib::Server::HandlerResponse::Unhandled;
  });
}

HttpListener::~HttpListener() {
  if (!thread_.joinable()) return;
  stopping_.Notify();
  // stop() has no effect while the server does not run.
  while (!http_->is_running() && !ended_.HasBeenNotified()) std::this_thread::yield();
  http_->stop();
  thread_.join();
}

void HttpListener::Serve(const HostPort& address) {
  // Returns true at the end of the server, and false if the system takes no more connections.
  while (!http_->listen_after_bind() && !stopping_.HasBeenNotified()) {
    Log(LogLevel::kError, kHttpLogName,
        absl::StrCat(ToString(address), ": takes no more connections; listens again"));
    do {
      if (stopping_.WaitForNotificationWithTimeout(kListenAgain)) break;
    } while (!http_->bind_to_port(address.host, address.port));
    if (stopping_.HasBeenNotified()) break;
  }
  ended_.Notify();
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
  thread_ = std::thread([this, address] { Serve(address); });
  // Waits until the server runs, since stop() has no effect before. This is short: the address is
  // bound already.
  while (!http_->is_running()) std::this_thread::yield();
  return absl::OkStatus();
}

}  // namespace mallocmuzero
