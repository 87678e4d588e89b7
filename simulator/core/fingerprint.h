// The fingerprint that ties mappings to the program they were made for.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_
#define MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_

#include <string>

#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// SHA-256 of the program serialised deterministically with `fingerprint` empty: 32 raw bytes. The
// header counts, so fill it first (SealProgram does).
std::string ProgramFingerprint(const v1::Program& program);

// Fills in header and fingerprint: the last step of making a program. Baseline.mapping cannot
// contain the fingerprint of the program it is part of: its program_sha256 is cleared.
void SealProgram(v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_
