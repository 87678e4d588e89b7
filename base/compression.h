// Compression with zstd.

#ifndef MALLOCMUZERO_BASE_COMPRESSION_H_
#define MALLOCMUZERO_BASE_COMPRESSION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Most bytes of a file after decompression, so that a small file cannot fill the memory.
inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// Compresses `bytes` into one zstd frame. The frame has a checksum, so that reading it after a bit
// flip is an error. ResourceExhausted, starting with `name`, if there is not enough memory.
absl::StatusOr<std::string> Compress(absl::string_view bytes, absl::string_view name);

// If `bytes` start with zstd's magic number, decompresses all their frames; else returns them
// unchanged. InvalidArgument, starting with `name`, if the frames are damaged, cut short, or have
// more than `max_bytes`. ResourceExhausted, also with the name, if there is not enough memory.
absl::StatusOr<std::string> Decompress(std::string bytes, absl::string_view name,
                                       int64_t max_bytes = kMaxFileBytes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_COMPRESSION_H_
