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
#include <set>
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

  // Names of the files and folders in each folder that survive a power cut.
  std::map<Inode, std::set<std::string>> entries ABSL_GUARDED_BY(mutex);
  std::string failing ABSL_GUARDED_BY(mutex);  // folder; empty: none
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

std::set<std::string> EntriesOf(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

int Sync(int file, int call) {
  WaitWhileHanging(file);
  struct stat before = {};
  const bool found = fstat(file, &before) == 0;
  if (const int result = syscall(call, file); result != 0) return result;
  State& disk = Disk();
  const absl::MutexLock lock(&disk.mutex);
  if (disk.fails > 0 && IsUnder(PathOf(file), disk.failing)) {
    --disk.fails;
    errno = EIO;
    return -1;
  }
  const Inode inode = {before.st_dev, before.st_ino};
  if (found && S_ISREG(before.st_mode)) disk.synced[inode] = before.st_size;
  if (found && S_ISDIR(before.st_mode)) disk.entries[inode] = EntriesOf(PathOf(file));
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
  const auto sync = [](const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(Disk().mutex) {
    struct stat found = {};
    if (stat(path.c_str(), &found) != 0) return;
    const Inode inode = {found.st_dev, found.st_ino};
    if (S_ISREG(found.st_mode)) Disk().synced[inode] = found.st_size;
    if (S_ISDIR(found.st_mode)) Disk().entries[inode] = EntriesOf(path);
  };
  sync(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    sync(entry.path().string());
  }
}

void CopyAfterPowerCut(const std::string& folder, const std::string& copy) {
  std::filesystem::remove_all(copy);
  std::filesystem::create_directory(copy);
  struct stat found = {};
  if (stat(folder.c_str(), &found) != 0) return;
  std::set<std::string> left;
  {
    const absl::MutexLock lock(&Disk().mutex);
    left = Disk().entries[{found.st_dev, found.st_ino}];
  }
  for (const std::string& name : left) {
    const std::string from = absl::StrCat(folder, "/", name);
    const std::string to = absl::StrCat(copy, "/", name);
    if (stat(from.c_str(), &found) != 0) continue;
    if (S_ISDIR(found.st_mode)) {
      CopyAfterPowerCut(from, to);
      continue;
    }
    std::filesystem::copy_file(from, to);
    const absl::MutexLock lock(&Disk().mutex);
    const off_t synced = Disk().synced[{found.st_dev, found.st_ino}];
    std::filesystem::resize_file(to, static_cast<uintmax_t>(std::min(synced, found.st_size)));
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
