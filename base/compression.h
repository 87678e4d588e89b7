// Compression with zstd.

#ifndef MALLOCMUZERO_BASE_COMPRESSION_H_
#define MALLOCMUZERO_BASE_COMPRESSION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Largest content that a file may have, in bytes after decompression: a small file must not be
// able to fill the memory.
inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// One zstd frame of `bytes`. The frame has a checksum, so a flipped byte is an error and not a
// strange program. ResourceExhausted, starting with `name`, if there is no memory for it.
absl::StatusOr<std::string> Compress(absl::string_view bytes, absl::string_view name);

// Decompresses all frames of `bytes` if they start with zstd's magic number, else returns them.
// InvalidArgument, starting with `name`, if they are damaged, cut short, or give more than
// `max_bytes`.
absl::StatusOr<std::string> Decompress(std::string bytes, absl::string_view name,
                                       int64_t max_bytes = kMaxFileBytes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_COMPRESSION_H_
