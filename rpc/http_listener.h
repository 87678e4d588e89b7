// Starts an HTTP server of cpp-httplib on an address of ours.

#ifndef MALLOCMUZERO_RPC_HTTP_LISTENER_H_
#define MALLOCMUZERO_RPC_HTTP_LISTENER_H_

#include <string>
#include <thread>

#include "absl/status/status.h"
#include "rpc/host_port.h"

namespace httplib {
class Server;
}  // namespace httplib

namespace mallocmuzero {

// Binds the server, whose routes and limits are set already, and serves on `thread`, which the
// caller joins after http.stop(). Replaces port 0 of `address` by the port that the system chose.
// InvalidArgument, with the text `given` in front, if another process has the address or it is not
// one of this machine.
absl::Status ListenHttp(const std::string& given, HostPort& address, httplib::Server& http,
                        std::thread& thread);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_HTTP_LISTENER_H_
