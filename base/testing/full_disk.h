// A disk without room, for tests.

#ifndef MALLOCMUZERO_BASE_TESTING_FULL_DISK_H_
#define MALLOCMUZERO_BASE_TESTING_FULL_DISK_H_

#include <sched.h>
#include <sys/mount.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace mallocmuzero::testing {

// Calls `check` in a child process, which alone sees that the folder is on a disk without room for
// any file. Makes the folder. Returns what `check` has returned, or nothing if this process may not
// mount a disk.
inline std::optional<bool> OnFullDisk(const std::string& folder,
                                      const std::function<bool()>& check) {
  constexpr int kCannotMount = 2;
  std::filesystem::create_directories(folder);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_mounted = unshare(CLONE_NEWNS) == 0 &&
                            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            mount("tmpfs", folder.c_str(), "tmpfs", 0, "nr_inodes=1") == 0;
    if (!is_mounted) _exit(kCannotMount);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) return std::nullopt;
  return WEXITSTATUS(status) == 0;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_BASE_TESTING_FULL_DISK_H_
