#include "simulator/hlo/testing/corpus.h"

#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero::hlo {
namespace {

absl::StatusOr<std::string> ReadZstd(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a zstd frame with its size"));
  }
  std::string text(size, '\0');
  if (ZSTD_decompress(text.data(), size, packed.data(), packed.size()) != size) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected undamaged zstd data"));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<CorpusFile>> ReadCorpus(const std::string& folder,
                                                   absl::string_view ending) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator entries(folder, error);
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  std::vector<CorpusFile> corpus;
  for (const auto& entry : entries) {
    std::string path = entry.path().string();
    if (!absl::EndsWith(path, ending)) continue;
    absl::StatusOr<std::string> text = ReadZstd(path);
    if (!text.ok()) return text.status();
    corpus.push_back({std::move(path), *std::move(text)});
  }
  std::sort(corpus.begin(), corpus.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.path < b.path; });
  return corpus;
}

}  // namespace mallocmuzero::hlo
