#include "rpc/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace mallocmuzero {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key MakeKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

void AddExtension(X509* certificate, int id, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Makes a certificate for `key` that is valid for an hour and not signed yet.
Certificate MakeCertificate(EVP_PKEY* key, const char* name, long serial) {
  Certificate certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  return certificate;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, size);
  BIO_free(bio);
  return text;
}

std::string Pem(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return TextOf(bio);
}

std::string Pem(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

}  // namespace

TestCertificates MakeTestCertificates() {
  const Key ca_key = MakeKey();
  const Certificate ca = MakeCertificate(ca_key.get(), "test authority", 1);
  X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get()));
  AddExtension(ca.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(ca.get(), ca_key.get(), EVP_sha256());

  const Key key = MakeKey();
  const Certificate certificate = MakeCertificate(key.get(), "localhost", 2);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(ca.get()));
  AddExtension(certificate.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  X509_sign(certificate.get(), ca_key.get(), EVP_sha256());
  return {.ca = Pem(ca.get()), .certificate = Pem(certificate.get()), .key = Pem(key.get())};
}

}  // namespace mallocmuzero
