// An HTTP server of cpp-httplib on an address of ours.

#ifndef MALLOCMUZERO_RPC_HTTP_LISTENER_H_
#define MALLOCMUZERO_RPC_HTTP_LISTENER_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "rpc/host_port.h"

namespace httplib {
class Server;
struct Request;
}  // namespace httplib

namespace mallocmuzero {

// Makes the server answer `request`, of a handler before routing, in whole. A header with thousands
// of ranges would otherwise get thousands of copies of the answer, all of them in memory.
void IgnoreRanges(const httplib::Request& request);

// Serves on threads of its own from Listen on. A request has at most 64 KiB, with its headers, and
// arrives within the server's time to read.
class HttpListener {
 public:
  HttpListener();

  // Ends the server, and waits for calls that it answers.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  // The server, whose routes and limits must be set before Listen. It has a handler before routing,
  // IgnoreRanges; another one in its place calls that.
  httplib::Server& http() { return *http_; }

  // Begins to serve; call it once. Replaces port 0 of `address` by the port that the system chose.
  // InvalidArgument, with the text `given` in front, if another process has the address or it is
  // not one of this machine.
  absl::Status Listen(const std::string& given, HostPort& address);

 private:
  std::unique_ptr<httplib::Server> http_;
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_HTTP_LISTENER_H_
