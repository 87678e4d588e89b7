// Certificates for tests of TLS.

#ifndef MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_
#define MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_

#include <string>

namespace mallocmuzero {

// PEM texts: an authority and a certificate for localhost and 127.0.0.1 that it signed. Made anew
// by each call, so two calls give authorities that do not trust each other.
struct TestCertificates {
  std::string ca;
  std::string certificate;
  std::string key;
};

TestCertificates MakeTestCertificates();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_
