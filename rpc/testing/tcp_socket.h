// Plain TCP sockets on this machine, for tests.

#ifndef MALLOCMUZERO_RPC_TESTING_TCP_SOCKET_H_
#define MALLOCMUZERO_RPC_TESTING_TCP_SOCKET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::testing {

// Closes itself at its end. Child processes do not inherit it.
class TcpSocket {
 public:
  TcpSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~TcpSocket() { Close(); }
  TcpSocket(TcpSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TcpSocket& operator=(TcpSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  // Takes a port of 127.0.0.1; 0 takes any free one. Returns false if it is taken.
  bool Bind(uint16_t port = 0) {
    const sockaddr_in to = Address(htonl(INADDR_LOOPBACK), port);
    return bind(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }

  // Connects to "IP:PORT". Returns false if nobody listens there.
  bool Connect(absl::string_view address) {
    const size_t colon = address.rfind(':');
    int port = 0;
    in_addr ip = {};
    if (colon == address.npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
        inet_pton(AF_INET, std::string(address.substr(0, colon)).c_str(), &ip) != 1) {
      return false;
    }
    const sockaddr_in to = Address(ip.s_addr, port);
    return connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }

  // "127.0.0.1:PORT" with the port that Bind has taken.
  std::string address() const {
    sockaddr_in own = {};
    socklen_t size = sizeof(own);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size);
    return absl::StrCat("127.0.0.1:", ntohs(own.sin_port));
  }

  // The descriptor, which this object owns.
  int fd() const { return fd_; }

  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  // `ip` is in the order of the network.
  static sockaddr_in Address(uint32_t ip, uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = ip;
    return address;
  }

  int fd_;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_RPC_TESTING_TCP_SOCKET_H_
