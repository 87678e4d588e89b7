#include "learner/best_history.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/list_folder.h"
#include "base/make_folder.h"
#include "base/message_file.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

constexpr char kExtension[] = ".mapping";

// Whether the file holds this mapping. A run that continues writes its best mapping again.
bool IsIn(const std::string& path, v1::Mapping mapping) {
  const absl::StatusOr<v1::Mapping> stored = ReadMessage<v1::Mapping>(path);
  FillHeader(mapping);
  return stored.ok() && SerializeDeterministically(*stored) == SerializeDeterministically(mapping);
}

// Also an error if the folder cannot be read: a version with the number of an earlier one would be
// written over it.
absl::StatusOr<std::vector<BestVersion>> ReadVersions(const std::string& folder) {
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries = ListFolder(folder);
  if (!entries.ok()) return entries.status();
  std::vector<BestVersion> versions;
  for (const std::filesystem::directory_entry& entry : *entries) {
    uint32_t number = 0;
    if (entry.path().extension() == kExtension &&
        absl::SimpleAtoi(entry.path().stem().string(), &number) && number > 0) {
      versions.push_back({number, entry.path().string()});
    }
  }
  std::sort(versions.begin(), versions.end(),
            [](const BestVersion& a, const BestVersion& b) { return a.number < b.number; });
  return versions;
}

}  // namespace

std::vector<BestVersion> ListBestVersions(const std::string& folder) {
  return ReadVersions(folder).value_or(std::vector<BestVersion>());
}

absl::Status AddBestVersion(const std::string& folder, const v1::Mapping& mapping, size_t most) {
  MMZ_RETURN_IF_ERROR(MakeFolder(folder));
  const absl::StatusOr<std::vector<BestVersion>> read = ReadVersions(folder);
  if (!read.ok()) return read.status();
  const std::vector<BestVersion>& versions = *read;
  if (!versions.empty() && IsIn(versions.back().path, mapping)) return absl::OkStatus();
  const uint32_t number = versions.empty() ? 1 : versions.back().number + 1;
  const std::string path = absl::StrFormat("%s/%06u%s", folder, number, kExtension);
  MMZ_RETURN_IF_ERROR(WriteMessage(path, mapping));
  if (versions.size() < most) return absl::OkStatus();
  const size_t old = versions.size() - versions.size() / 4;
  for (size_t i = 1; i < old; i += 2) {
    std::error_code ignored;
    std::filesystem::remove(versions[i].path, ignored);
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
