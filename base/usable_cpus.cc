#include "base/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"

namespace mallocmuzero {
namespace {

// The text of a file of the kernel, such as "max 100000"; empty if it cannot be read.
std::string TextOf(const std::string& path) { return ReadFile(path).value_or(""); }

// A limit of `quota` microseconds in each `period`. A quota that is no positive number is no limit.
std::optional<uint32_t> Limit(absl::string_view quota, absl::string_view period) {
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (!absl::SimpleAtoi(quota, &quota_us) || quota_us <= 0) return std::nullopt;
  if (!absl::SimpleAtoi(period, &period_us) || period_us <= 0) return std::nullopt;
  return std::min<int64_t>((quota_us - 1) / period_us + 1, std::numeric_limits<uint32_t>::max());
}

std::optional<uint32_t> LimitOfGroup2(const std::string& folder) {
  const std::string text = TextOf(absl::StrCat(folder, "/cpu.max"));
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), absl::MaxSplits(' ', 1));
  return Limit(words.first, words.second);
}

std::optional<uint32_t> LimitOfGroup1(const std::string& folder) {
  return Limit(TextOf(absl::StrCat(folder, "/cpu.cfs_quota_us")),
               TextOf(absl::StrCat(folder, "/cpu.cfs_period_us")));
}

// std::thread::hardware_concurrency counts all CPUs of the machine with some versions of glibc.
uint32_t CpusOfAffinity() {
  cpu_set_t allowed;
  // It fails on a machine with more CPUs than the set has room for.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

uint32_t UsableCpus() {
  const uint32_t cpus = CpusOfAffinity();
  return std::min(cpus, CpuQuota().value_or(cpus));
}

std::optional<uint32_t> CpuQuota(const std::string& root) {
  std::optional<uint32_t> least;
  const std::string groups = absl::StrCat(root, "/sys/fs/cgroup");
  const std::string text = TextOf(absl::StrCat(root, "/proc/self/cgroup"));
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    // ID:CONTROLLERS:PATH. Version 2 has no controllers here, because all are in one tree.
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool is_version_2 = fields[1].empty();
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    if (!is_version_2 && !absl::c_linear_search(controllers, "cpu")) continue;

    // In a container the tree may begin at its own group, whose path outside does not exist here.
    const std::string tree = is_version_2 ? groups : absl::StrCat(groups, "/cpu");
    for (std::filesystem::path group = std::string(fields[2]);; group = group.parent_path()) {
      const std::string folder = tree + group.string();
      const auto limit = is_version_2 ? LimitOfGroup2(folder) : LimitOfGroup1(folder);
      if (limit.has_value()) least = std::min(*limit, least.value_or(*limit));
      if (!group.has_relative_path()) break;
    }
  }
  return least;
}

}  // namespace mallocmuzero
