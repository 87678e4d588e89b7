#include "base/open_file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace mallocmuzero {
namespace {

constexpr rlim_t kMostOpenFiles = 1'000'000;

}  // namespace

void RaiseOpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kMostOpenFiles));
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace mallocmuzero
