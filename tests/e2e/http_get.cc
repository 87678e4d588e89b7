#include "tests/e2e/http_get.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero::e2e {

std::string HttpGet(const std::string& ip, uint16_t port, const std::string& path) {
  mallocmuzero::testing::TcpSocket socket;
  std::string answer;
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", ip, "\r\nConnection: close\r\n\r\n");
  if (socket.Connect(absl::StrCat(ip, ":", port)) &&
      write(socket.fd(), request.data(), request.size()) == std::ssize(request)) {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(socket.fd(), buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, n);
    }
  }
  return answer;
}

}  // namespace mallocmuzero::e2e
