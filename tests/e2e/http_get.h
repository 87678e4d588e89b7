// A minimal HTTP client, as much as a scraper of metrics needs.

#ifndef MALLOCMUZERO_TESTS_E2E_HTTP_GET_H_
#define MALLOCMUZERO_TESTS_E2E_HTTP_GET_H_

#include <cstdint>
#include <string>

namespace mallocmuzero::e2e {

// The whole answer, header and body; empty if there is none.
std::string HttpGet(const std::string& ip, uint16_t port, const std::string& path);

}  // namespace mallocmuzero::e2e

#endif  // MALLOCMUZERO_TESTS_E2E_HTTP_GET_H_
