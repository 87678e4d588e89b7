#include "replay/service/shard_copies.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/exists.h"
#include "base/list_folder.h"
#include "base/sync_folder.h"

namespace mallocmuzero {
namespace {

constexpr char kMark[] = ".checkpoint-";
constexpr char kUnfinished[] = ".tmp";

// RocksDB makes this file when it opens a database, and copies none.
constexpr char kOpenedFile[] = "/database/LOCK";

using Inode = std::pair<dev_t, ino_t>;

bool IsUnfinished(const std::string& path) { return absl::EndsWith(path, kUnfinished); }

// Whether this is the time in a copy's name. An operator who gives a copy another name wants to
// keep it.
bool IsTime(absl::string_view text) {
  constexpr absl::string_view kExample = "20260131T235959.000000Z";
  if (text.size() != kExample.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = absl::ascii_isdigit(text[i]);
    if (is_digit != absl::ascii_isdigit(kExample[i])) return false;
    if (!is_digit && text[i] != kExample[i]) return false;
  }
  return true;
}

std::filesystem::path FolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

// Returns the paths of the folders beside `folder` that have the name of a copy of it and that
// `choose` accepts, the oldest first.
std::vector<std::string> CopiesOf(const std::string& folder,
                                  const std::function<bool(const std::string& path)>& choose) {
  const std::filesystem::path data(folder);
  const std::string prefix = absl::StrCat(data.filename().string(), kMark);
  std::vector<std::string> copies;
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries =
      ListFolder(FolderOf(folder).string());
  if (!entries.ok()) return copies;
  for (const std::filesystem::directory_entry& entry : *entries) {
    const std::string name = entry.path().filename().string();
    absl::string_view time = name;
    if (!absl::ConsumePrefix(&time, prefix)) continue;
    absl::ConsumeSuffix(&time, kUnfinished);
    std::error_code error;
    if (!IsTime(time) || !entry.is_directory(error)) continue;
    const std::string path = (data.parent_path() / name).string();
    if (choose(path)) copies.push_back(path);
  }
  std::sort(copies.begin(), copies.end());
  return copies;
}

// Returns the bytes of the files in `folder` that are not in `seen`, and adds them to it. Leaves
// out what cannot be read, such as a copy that an operator removes at the same time.
uint64_t NewBytes(const std::string& folder, std::set<Inode>& seen) {
  uint64_t bytes = 0;
  std::error_code error;
  // A loop over a range would throw at a folder that cannot be opened.
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (seen.insert({info.st_dev, info.st_ino}).second) bytes += info.st_size;
  }
  return bytes;
}

}  // namespace

std::string NewCopyPath(const std::string& folder) {
  return absl::StrCat(folder, kMark,
                      absl::FormatTime("%Y%m%dT%H%M%E6SZ", absl::Now(), absl::UTCTimeZone()));
}

std::string UnfinishedCopyPath(const std::string& path) { return absl::StrCat(path, kUnfinished); }

absl::Status FinishCopy(const std::string& path) {
  std::error_code error;
  std::filesystem::rename(UnfinishedCopyPath(path), path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  return SyncFolder(FolderOf(path).string());
}

std::vector<std::string> RemoveOldCopies(const std::string& folder, const CopyLimits& limits,
                                         const std::string& newest) {
  std::vector<std::string> copies = CopiesOf(folder, [](const std::string& path) {
    return !IsUnfinished(path) && !Exists(path + kOpenedFile);
  });
  std::set<Inode> seen;
  NewBytes(folder, seen);
  std::vector<std::string> removed;
  uint64_t bytes = 0;
  uint64_t kept = 0;
  std::reverse(copies.begin(), copies.end());
  const std::filesystem::path first = std::filesystem::path(newest).filename();
  std::stable_partition(copies.begin(), copies.end(), [&first](const std::string& copy) {
    return std::filesystem::path(copy).filename() == first;
  });
  for (const std::string& copy : copies) {
    bytes += NewBytes(copy, seen);
    if (kept == 0 || (removed.empty() && kept < limits.copies && bytes <= limits.bytes)) {
      ++kept;
      continue;
    }
    // A copy of which some files are gone must not have the name of a copy.
    const std::string unfinished = UnfinishedCopyPath(copy);
    std::error_code error;
    std::filesystem::rename(copy, unfinished, error);
    if (error) continue;
    std::filesystem::remove_all(unfinished, error);
    removed.push_back(copy);
  }
  return removed;
}

void RemoveUnfinishedCopies(const std::string& folder) {
  for (const std::string& path : CopiesOf(folder, IsUnfinished)) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
}

}  // namespace mallocmuzero
