// The limit that control groups set to the processor time of this process, such as the limit of a
// container.

#ifndef MALLOCMUZERO_BASE_CPU_QUOTA_H_
#define MALLOCMUZERO_BASE_CPU_QUOTA_H_

#include <cstdint>
#include <optional>
#include <string>

namespace mallocmuzero {

// The least limit of the control group of this process and of the groups around it, in CPUs and
// rounded up: `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1. Nothing if there is no
// limit, or if it cannot be read. `root` is the folder that has proc/ and sys/.
std::optional<uint32_t> CpuQuota(const std::string& root = "/");

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_CPU_QUOTA_H_
