#include "simulator/core/fingerprint.h"

#include <openssl/sha.h>

#include "simulator/core/file_io.h"

namespace mallocmuzero {

std::string Sha256(absl::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

std::string ProgramFingerprint(const v1::Program& program) {
  if (program.fingerprint().empty()) return Sha256(SerializeDeterministically(program));
  v1::Program cleared = program;
  cleared.clear_fingerprint();
  return Sha256(SerializeDeterministically(cleared));
}

void SealProgram(v1::Program& program) {
  FillHeader(program);
  program.clear_fingerprint();
  if (program.has_baseline() && program.baseline().has_mapping()) {
    program.mutable_baseline()->mutable_mapping()->clear_program_sha256();
  }
  program.set_fingerprint(ProgramFingerprint(program));
}

}  // namespace mallocmuzero
