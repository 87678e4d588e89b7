// The processors that this process may use.

#ifndef MALLOCMUZERO_BASE_USABLE_CPUS_H_
#define MALLOCMUZERO_BASE_USABLE_CPUS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace mallocmuzero {

// The number of CPUs on which this process may run, at most its CpuQuota. At least 1.
uint32_t UsableCpus();

// The limit of processor time, such as that of a container, in CPUs and rounded up. It is the least
// limit of the control group of this process and of the groups around it. Version 2 has it in
// `cpu.max`, version 1 in `cpu.cfs_quota_us`. The result is empty if there is no limit, or if it
// cannot be read. `root` is the folder that has proc/ and sys/.
std::optional<uint32_t> CpuQuota(const std::string& root = "/");

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_USABLE_CPUS_H_
