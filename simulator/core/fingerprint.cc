#include "simulator/core/fingerprint.h"

#include "base/message_file.h"
#include "base/sha256.h"

namespace mallocmuzero {

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
