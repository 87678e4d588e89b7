#include "simulator/core/fast_memory_share.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/rounding.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {

absl::StatusOr<Program> WithFastMemoryShare(const Program& program, double share) {
  // No chip has more than 2^53 bytes. Above this number, a double cannot represent every integer.
  constexpr double kMostBytes = 9007199254740992.0;
  v1::Program resized = program.proto();
  v1::Hardware& hardware = *resized.mutable_hardware();
  const double bytes = share * static_cast<double>(hardware.fast_memory_bytes());
  if (!(share > 0) || !(bytes <= kMostBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(resized.name(), ": fast memory times ", share,
                     ": a positive share expected, of at most 2^53 bytes in all"));
  }
  if (share != 1) {
    const int64_t alignment = hardware.fast_memory_alignment_bytes();
    hardware.set_fast_memory_bytes(RoundToZero(bytes) / alignment * alignment);
    if (hardware.fast_memory_bytes() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(resized.name(), ": fast memory times ", share,
                                                     ": less than the alignment of ", alignment,
                                                     " bytes"));
    }
    hardware.set_name(absl::StrCat(hardware.name(), "_", 100 * share, "pct"));
    resized.clear_baseline();
    SealProgram(resized);
  } else if (resized.header().version() != FileVersion(resized)) {
    SealProgram(resized);  // the fingerprint covers the version, which a file of it will have
  }
  absl::StatusOr<Program> made = Program::FromProto(std::move(resized));
  if (made.ok()) return made;
  return absl::Status(made.status().code(),
                      absl::StrCat(program.proto().name(), ": fast memory times ", share, ": ",
                                   made.status().message()));
}

}  // namespace mallocmuzero
