// The fingerprint that ties mappings to the program that they were made for.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_
#define MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_

#include <string>

#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// SHA-256 of the program serialised deterministically with `fingerprint` empty: 32 raw bytes. The
// header is part of the hash, so it must be filled in before (SealProgram does so).
std::string ProgramFingerprint(const v1::Program& program);

// Fills in header and fingerprint, the last step of making a program. Clears program_sha256 of
// Baseline.mapping, which cannot contain the fingerprint of the program that it is part of.
void SealProgram(v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_FINGERPRINT_H_
