#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

bool g_has_locks = true;

}  // namespace

// In place of the system's, for this test program.
extern "C" int flock(int file, int operation) {
  if (g_has_locks) return syscall(SYS_flock, file, operation);
  errno = ENOSYS;
  return -1;
}

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int OpenFile() {
  const std::string path = ::testing::TempDir() + "/file_lock";
  return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

TEST(FileLock, IsHeldOnceAtATime) {
  const int first = OpenFile();
  const int second = OpenFile();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(LockFile(first, "f"));
  EXPECT_FALSE(LockFile(second, "f"));
  close(first);
  EXPECT_TRUE(LockFile(second, "f"));
  close(second);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST(FileLock, ThatCannotLockSaysSo) {
  const int file = OpenFile();
  g_has_locks = false;
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(LockFile(file, "RUN/lock"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("RUN/lock"), HasSubstr("nothing keeps a second process out")));
  g_has_locks = true;
  close(file);
}

}  // namespace
}  // namespace mallocmuzero
