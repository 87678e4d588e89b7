// Resources of the process that run short, for tests.

#ifndef MALLOCMUZERO_BASE_TESTING_RESOURCE_LIMITS_H_
#define MALLOCMUZERO_BASE_TESTING_RESOURCE_LIMITS_H_

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "gtest/gtest.h"

namespace mallocmuzero {

// While this object lives, `most` is the process's limit of a resource, such as RLIMIT_NOFILE.
class ResourceLimit {
 public:
  ResourceLimit(int resource, rlim_t most) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource_, &before_), 0);
    const rlimit small{.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &small), 0);
  }
  ~ResourceLimit() { EXPECT_EQ(setrlimit(resource_, &before_), 0); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  const int resource_;
  rlimit before_{};
};

// Simulates a full disk: while this object lives, no file of the process can grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : limit_(RLIMIT_FSIZE, bytes) {}

 private:
  // A write beyond the limit is an error then, and does not kill the process.
  class IgnoredSignal {
   public:
    IgnoredSignal() : handler_(signal(SIGXFSZ, SIG_IGN)) {}
    ~IgnoredSignal() { signal(SIGXFSZ, handler_); }
    IgnoredSignal(const IgnoredSignal&) = delete;
    IgnoredSignal& operator=(const IgnoredSignal&) = delete;

   private:
    const sighandler_t handler_;
  };

  const IgnoredSignal ignored_;  // for longer than the limit
  const ResourceLimit limit_;
};

// While this object lives, the process can take at most `bytes` of address space more than it has.
// Sanitizers take so much of it that a test with this limit must be left out under them.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) : limit_(RLIMIT_AS, AddressSpace() + bytes) {}

 private:
  static uint64_t AddressSpace() {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_GT(pages, 0);
    return pages * sysconf(_SC_PAGESIZE);
  }

  const ResourceLimit limit_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_TESTING_RESOURCE_LIMITS_H_
