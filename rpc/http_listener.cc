#include "rpc/http_listener.h"

#include <httplib.h>
#include <sys/socket.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {

absl::Status ListenHttp(const std::string& given, HostPort& address, httplib::Server& http,
                        std::thread& thread) {
  // Replaces the library's SO_REUSEPORT, which would let a second process share the port.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  const int port = address.port;
  const int bound = port == 0                               ? http.bind_to_any_port(address.host)
                    : http.bind_to_port(address.host, port) ? port
                                                            : -1;
  if (bound <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, ": cannot listen on this address; is it in use?"));
  }
  address.port = bound;
  thread = std::thread([&http] { http.listen_after_bind(); });
  // Waits until the server runs, since stop() has no effect before. This is short: the address is
  // bound already.
  while (!http.is_running()) std::this_thread::yield();
  return absl::OkStatus();
}

}  // namespace mallocmuzero
