#include "base/sha256.h"

#include <openssl/sha.h>

#include <cstdint>

namespace mallocmuzero {

std::string Sha256(absl::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

}  // namespace mallocmuzero
