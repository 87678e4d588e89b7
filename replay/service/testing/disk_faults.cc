#include "replay/service/testing/disk_faults.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero::disk_faults {
namespace {

using Inode = std::pair<dev_t, ino_t>;

struct State {
  absl::Mutex mutex;
  std::map<Inode, off_t> synced ABSL_GUARDED_BY(mutex);  // bytes that survive a power cut
  std::string failing ABSL_GUARDED_BY(mutex);            // folder; empty: none
  int fails ABSL_GUARDED_BY(mutex) = 0;
  std::string hanging ABSL_GUARDED_BY(mutex);  // folder; empty: none
};

State& Disk() {
  static State* const state = new State;
  return *state;
}

bool IsUnder(const std::string& path, const std::string& folder) {
  return !folder.empty() && absl::StartsWith(path, folder + "/");
}

std::string PathOf(int file) {
  std::error_code error;
  return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", file), error).string();
}

void WaitWhileHanging(int file) {
  State& disk = Disk();
  const absl::MutexLock lock(&disk.mutex);
  if (disk.hanging.empty() || !IsUnder(PathOf(file), disk.hanging)) return;
  const auto released = [&disk]() { return disk.hanging.empty(); };
  disk.mutex.Await(absl::Condition(&released));
}

int Sync(int file, int call) {
  WaitWhileHanging(file);
  struct stat before = {};
  const bool known = fstat(file, &before) == 0 && S_ISREG(before.st_mode);
  if (const auto result = static_cast<int>(syscall(call, file)); result != 0) return result;
  State& disk = Disk();
  const absl::MutexLock lock(&disk.mutex);
  if (disk.fails > 0 && IsUnder(PathOf(file), disk.failing)) {
    --disk.fails;
    errno = EIO;
    return -1;
  }
  if (known) disk.synced[{before.st_dev, before.st_ino}] = before.st_size;
  return 0;
}

}  // namespace

void FailSyncs(const std::string& folder, int count) {
  const absl::MutexLock lock(&Disk().mutex);
  Disk().failing = std::filesystem::canonical(folder).string();
  Disk().fails = count;
}

void Hang(const std::string& folder) {
  const absl::MutexLock lock(&Disk().mutex);
  Disk().hanging = std::filesystem::canonical(folder).string();
}

void Release() {
  const absl::MutexLock lock(&Disk().mutex);
  Disk().hanging.clear();
}

void SyncAll(const std::string& folder) {
  const absl::MutexLock lock(&Disk().mutex);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat found = {};
    if (stat(entry.path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    Disk().synced[{found.st_dev, found.st_ino}] = found.st_size;
  }
}

void CopyAfterPowerCut(const std::string& folder, const std::string& copy) {
  std::filesystem::remove_all(copy);
  std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
  const absl::MutexLock lock(&Disk().mutex);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat found = {};
    if (stat(entry.path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const auto synced = Disk().synced.find({found.st_dev, found.st_ino});
    const off_t left = synced == Disk().synced.end() ? 0 : synced->second;
    const auto copied = copy / std::filesystem::relative(entry.path(), folder);
    std::filesystem::resize_file(copied, static_cast<uintmax_t>(std::min(left, found.st_size)));
  }
}

}  // namespace mallocmuzero::disk_faults

using mallocmuzero::disk_faults::Disk;
using mallocmuzero::disk_faults::Sync;
using mallocmuzero::disk_faults::WaitWhileHanging;

extern "C" {

int fsync(int file) { return Sync(file, SYS_fsync); }

int fdatasync(int file) { return Sync(file, SYS_fdatasync); }

ssize_t pwritev(int file, const iovec* parts, int count, off_t offset) {
  WaitWhileHanging(file);
  {
    // What is written over is not on the disk any more.
    struct stat found = {};
    const absl::MutexLock lock(&Disk().mutex);
    if (fstat(file, &found) == 0) {
      const auto synced = Disk().synced.find({found.st_dev, found.st_ino});
      if (synced != Disk().synced.end()) synced->second = std::min(synced->second, offset);
    }
  }
  return syscall(SYS_pwritev, file, parts, count, offset, 0);
}
}
