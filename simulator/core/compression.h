// Makes what Decompress (simulator/core/file_io.h) reads.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_COMPRESSION_H_
#define MALLOCMUZERO_SIMULATOR_CORE_COMPRESSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// One zstd frame of `bytes`, with a checksum, so that a flipped byte is an error and not a strange
// program. ResourceExhausted, starting with `name`, if there is no memory for it.
absl::StatusOr<std::string> Compress(absl::string_view bytes, absl::string_view name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_COMPRESSION_H_
