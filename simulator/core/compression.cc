#include "simulator/core/compression.h"

#include <zstd.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

constexpr int kCompressionLevel = 9;

}  // namespace

absl::StatusOr<std::string> Compress(absl::string_view bytes, absl::string_view name) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  if (context == nullptr) return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory"));
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), compressed.data(), compressed.size(),
                                     bytes.data(), bytes.size());
  if (ZSTD_isError(size)) {
    return absl::InternalError(absl::StrCat(name, ": compress: ", ZSTD_getErrorName(size)));
  }
  compressed.resize(size);
  return compressed;
}

}  // namespace mallocmuzero
