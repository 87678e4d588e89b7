#include "base/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {
namespace {

constexpr char kMark[] = ".mmz-";
constexpr char kExtension[] = ".tmp";
constexpr size_t kRandomDigits = 16;

// The most attempts to find a free name.
constexpr int kMostAttempts = 100;

// On a file system without locks, a file that was not written to for this long is a leftover.
constexpr time_t kLeftoverSeconds = 3600;

// 64 random bits. std::random_device would need arc4random, which glibc lacks before version 2.36.
std::string RandomDigits() {
  uint64_t number = 0;
  while (getrandom(&number, sizeof(number), 0) < 0 && errno == EINTR) {
  }
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

bool IsTemporaryName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kExtension) || name.size() < kRandomDigits) return false;
  const absl::string_view digits = name.substr(name.size() - kRandomDigits);
  name.remove_suffix(kRandomDigits);
  return absl::EndsWith(name, kMark) &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
}

void RemoveIfLeftover(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return;
  struct stat found = {};
  bool is_leftover = false;
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode)) {
    is_leftover = flock(file, LOCK_EX | LOCK_NB) == 0 ||
                  (errno != EWOULDBLOCK && found.st_mtime + kLeftoverSeconds < time(nullptr));
  }
  if (is_leftover) unlink(path.c_str());
  close(file);
}

void SweepOnce(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> swept;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!swept.insert(folder).second) return;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (IsTemporaryName(entry->path().filename().string())) {
      RemoveIfLeftover(entry->path().string());
    }
  }
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& target) : target_(target) {
  const std::string folder = std::filesystem::path(target).parent_path().string();
  SweepOnce(folder.empty() ? "." : folder);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (Make()) return;
    if (error_ != EEXIST) return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ < 0) return;
  if (!replaced_) unlink(path_.c_str());
  close(descriptor_);
}

// Returns true if the file exists and is locked. error_ is EEXIST if another name must be tried.
bool TemporaryFile::Make() {
  path_ = absl::StrCat(target_, kMark, RandomDigits(), kExtension);
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  error_ = descriptor_ < 0 ? errno : 0;
  if (descriptor_ < 0) return false;
  // Another process that sweeps the folder may have taken the lock first; it removes the file. On a
  // file system without locks flock() fails, and the file is used without a lock.
  struct stat found = {};
  if (flock(descriptor_, LOCK_EX) != 0 || fstat(descriptor_, &found) != 0 || found.st_nlink > 0) {
    return true;
  }
  close(descriptor_);
  descriptor_ = -1;
  error_ = EEXIST;
  return false;
}

bool TemporaryFile::Replace() {
  replaced_ = std::rename(path_.c_str(), target_.c_str()) == 0;
  return replaced_;
}

}  // namespace mallocmuzero
