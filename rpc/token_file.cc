#include "rpc/token_file.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/file_io.h"

namespace mallocmuzero {
namespace {

using Clock = std::chrono::steady_clock;  // the wall clock may be set back

constexpr size_t kLeastCharacters = 16;
constexpr size_t kMostTokens = 2;
constexpr std::chrono::seconds kLookEvery(1);

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(absl::string_view field,
                                                           const std::string& path) {
  std::unique_ptr<TokenFile> file(new TokenFile(std::string(field), path));
  absl::StatusOr<std::vector<std::string>> tokens = file->Read();
  if (!tokens.ok()) return tokens.status();
  file->SetTokens(*std::move(tokens));
  return file;
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::OpenLater(absl::string_view field,
                                                                const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return Open(field, path);
  std::unique_ptr<TokenFile> file(new TokenFile(std::string(field), path));
  file->SetTokens({});
  return file;
}

void TokenFile::SetTokens(std::vector<std::string> tokens) {
  const absl::MutexLock lock(&mutex_);
  tokens_ = std::move(tokens);
  next_look_ = Clock::now() + kLookEvery;
}

absl::StatusOr<std::vector<std::string>> TokenFile::Read() const {
  // A token does not begin with zstd's magic number.
  const absl::StatusOr<std::string> text = ReadFile(path_);
  if (!text.ok() || text->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("security.", field_, ": '", path_, "' cannot be read or is empty"));
  }
  std::vector<std::string> tokens;
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
  for (size_t i = 0; i < std::min(lines.size(), kMostTokens); ++i) {
    const absl::string_view token = absl::StripAsciiWhitespace(lines[i]);
    // The second line may be missing.
    if (i > 0 && token.empty()) continue;
    if (token.size() < kLeastCharacters) {
      return absl::InvalidArgumentError(absl::StrCat("security.", field_, ": line ", i + 1, " of '",
                                                     path_, "' has fewer than ", kLeastCharacters,
                                                     " characters"));
    }
    tokens.emplace_back(token);
  }
  return tokens;
}

void TokenFile::Refresh() {
  {
    const absl::MutexLock lock(&mutex_);
    if (is_reading_ || Clock::now() < next_look_) return;
    is_reading_ = true;
  }
  absl::StatusOr<std::vector<std::string>> tokens = Read();
  const absl::MutexLock lock(&mutex_);
  if (tokens.ok()) tokens_ = *std::move(tokens);
  is_reading_ = false;
  next_look_ = Clock::now() + kLookEvery;
}

std::string TokenFile::token() {
  Refresh();
  const absl::MutexLock lock(&mutex_);
  return tokens_.empty() ? "" : tokens_.front();
}

bool TokenFile::Accepts(absl::string_view prefix, absl::string_view text) {
  Refresh();
  const absl::MutexLock lock(&mutex_);
  bool accepted = false;
  for (const std::string& token : tokens_) {
    const std::string wanted = absl::StrCat(prefix, token);
    if (wanted.size() != text.size()) continue;
    accepted = CRYPTO_memcmp(wanted.data(), text.data(), text.size()) == 0 || accepted;
  }
  return accepted;
}

}  // namespace mallocmuzero
