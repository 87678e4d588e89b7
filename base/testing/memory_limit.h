// Memory that is short, for tests.

#ifndef MALLOCMUZERO_BASE_TESTING_MEMORY_LIMIT_H_
#define MALLOCMUZERO_BASE_TESTING_MEMORY_LIMIT_H_

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "gtest/gtest.h"

namespace mallocmuzero {

// While this object lives, the process can take at most `bytes` of address space more than it has.
// Sanitizers take so much of it that a test with this limit must be left out under them.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_GT(pages, 0);
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    const rlimit small{.rlim_cur = pages * sysconf(_SC_PAGESIZE) + bytes,
                       .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  }
  ~MemoryLimit() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_TESTING_MEMORY_LIMIT_H_
