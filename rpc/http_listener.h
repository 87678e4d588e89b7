// An HTTP server of cpp-httplib on an address of ours.

#ifndef MALLOCMUZERO_RPC_HTTP_LISTENER_H_
#define MALLOCMUZERO_RPC_HTTP_LISTENER_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "rpc/host_port.h"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace mallocmuzero {

// Makes the server answer `request`, of a handler before routing, in whole. A header with thousands
// of ranges would otherwise get thousands of copies of the answer, all of them in memory.
void IgnoreRanges(const httplib::Request& request);

// Answers `request`, of a handler before routing, with 404 and returns true if its method is
// neither GET nor HEAD. The handler then returns Handled. Otherwise the server would read the body
// before it looks for a route, and a compressed body takes thousands of times its size in memory.
bool RefuseOtherMethods(const httplib::Request& request, httplib::Response& response);

// Serves GET and HEAD on threads of its own from Listen on. A request has at most 64 KiB, with its
// headers, and arrives within the server's time to read. The client takes the whole answer within
// 30 seconds. No body is read: a request that may have one is the last of its connection. If the
// system fails to take a connection, the listener logs this and listens again after a second.
class HttpListener {
 public:
  HttpListener();

  // Ends the server, and waits for calls that it answers.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  // The server, whose routes and limits must be set before Listen. It has a handler before routing
  // of IgnoreRanges and RefuseOtherMethods; another one in its place calls both.
  httplib::Server& http() { return *http_; }

  // Begins to serve; call it once. Replaces port 0 of `address` by the port that the system chose.
  // InvalidArgument, with the text `given` in front, if another process has the address or it is
  // not one of this machine.
  absl::Status Listen(const std::string& given, HostPort& address);

 private:
  // The body of the thread: serves until the end, and listens again after a failure of the system.
  void Serve(const HostPort& address);

  std::unique_ptr<httplib::Server> http_;
  absl::Notification stopping_;
  absl::Notification ended_;  // Serve is about to return
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_HTTP_LISTENER_H_
