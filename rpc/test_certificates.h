// Certificates for tests of TLS.

#ifndef MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_
#define MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_

#include <string>

namespace mallocmuzero {

// PEM texts: a certificate authority, and a certificate with its key for localhost and 127.0.0.1
// that the authority signed. Each call of MakeTestCertificates makes a new authority.
struct TestCertificates {
  std::string ca;
  std::string certificate;
  std::string key;
};

TestCertificates MakeTestCertificates();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_TEST_CERTIFICATES_H_
