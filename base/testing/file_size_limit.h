// A full disk for tests.

#ifndef MALLOCMUZERO_BASE_TESTING_FILE_SIZE_LIMIT_H_
#define MALLOCMUZERO_BASE_TESTING_FILE_SIZE_LIMIT_H_

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

#include "gtest/gtest.h"

namespace mallocmuzero {

// Simulates a full disk: while this object lives, no file of the process can grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  const sighandler_t handler_;
  rlimit before_{};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_TESTING_FILE_SIZE_LIMIT_H_
