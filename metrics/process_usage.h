// What this process takes of the machine.

#ifndef MALLOCMUZERO_METRICS_PROCESS_USAGE_H_
#define MALLOCMUZERO_METRICS_PROCESS_USAGE_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

struct ProcessUsage {
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  double cpu_seconds = 0;  // of all threads, user and system
  uint32_t threads = 0;
  uint32_t open_files = 0;
  uint64_t most_open_files = 0;  // that the process may have
  double start_seconds = 0;      // since the epoch
};

// Zeros for what the kernel does not tell.
ProcessUsage ReadProcessUsage();

// Resident bytes alone: one short file.
uint64_t ResidentBytes();

// Of another process; 0 if there is none.
uint64_t ResidentBytesOf(pid_t pid);
double CpuSecondsOf(pid_t pid);

// When the machine started, seconds since the epoch, by a file of the form of /proc/stat; 0 if the
// file does not tell. It stands behind a line for each CPU and the counts of all interrupts.
double BootSecondsIn(const std::string& path);

// Of this build, as --version prints it.
absl::string_view BuildVersion();

// process_*, by the names that Prometheus' client libraries agree on, and mallocmuzero_build_info.
class ProcessCollector : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_PROCESS_USAGE_H_
