#include "base/compression.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

constexpr absl::string_view kZstdMagic("\x28\xB5\x2F\xFD", 4);

constexpr int kCompressionLevel = 9;

absl::Status NotEnoughMemory(absl::string_view name) {
  return absl::ResourceExhaustedError(absl::StrCat(name, ": not enough memory"));
}

// Whether zstd reports a lack of memory, which says nothing about the data.
bool LacksMemory(size_t error) { return ZSTD_getErrorCode(error) == ZSTD_error_memory_allocation; }

}  // namespace

absl::StatusOr<std::string> Compress(absl::string_view bytes, absl::string_view name) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  if (context == nullptr) return NotEnoughMemory(name);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), compressed.data(), compressed.size(),
                                     bytes.data(), bytes.size());
  if (ZSTD_isError(size)) {
    if (LacksMemory(size)) return NotEnoughMemory(name);
    return absl::InternalError(absl::StrCat(name, ": compress: ", ZSTD_getErrorName(size)));
  }
  compressed.resize(size);
  return compressed;
}

absl::StatusOr<std::string> Decompress(std::string bytes, absl::string_view name,
                                       int64_t max_bytes) {
  if (!absl::StartsWith(bytes, kZstdMagic)) return bytes;
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (context == nullptr) return NotEnoughMemory(name);
  std::string content;
  std::vector<char> chunk(ZSTD_DStreamOutSize());
  ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
  size_t missing = 0;  // bytes still missing; 0 when the frame is complete
  bool chunk_full = false;
  while (input.pos < input.size || chunk_full) {
    ZSTD_outBuffer output = {chunk.data(), chunk.size(), 0};
    missing = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(missing)) {
      if (LacksMemory(missing)) return NotEnoughMemory(name);
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": damaged zstd data: ", ZSTD_getErrorName(missing)));
    }
    content.append(chunk.data(), output.pos);
    if (std::ssize(content) > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": content is longer than ", max_bytes, " bytes"));
    }
    chunk_full = output.pos == output.size && missing != 0;
  }
  if (missing != 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": zstd data is cut short"));
  }
  return content;
}

}  // namespace mallocmuzero
