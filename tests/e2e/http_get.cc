#include "tests/e2e/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::e2e {

std::string HttpGet(const std::string& ip, uint16_t port, const std::string& path) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  std::string answer;
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", ip, "\r\nConnection: close\r\n\r\n");
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      write(socket, request.data(), request.size()) == std::ssize(request)) {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(socket, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, n);
    }
  }
  close(socket);
  return answer;
}

}  // namespace mallocmuzero::e2e
