// The memory, CPU time and files that a process uses, from /proc.

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

// The usage of one process at one time.
struct ProcessUsage {
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  double cpu_seconds = 0;  // user and system time of all threads
  uint32_t threads = 0;
  uint32_t open_files = 0;
  uint64_t most_open_files = 0;  // the limit of open files
  double start_seconds = 0;      // when the process started, in Unix seconds
};

// The usage of this process. Values that cannot be read are 0.
ProcessUsage ReadProcessUsage();

// The resident bytes of this process. Cheaper than ReadProcessUsage, since it reads one short file.
uint64_t ResidentBytes();

// The same values of another process; 0 if there is no such process.
uint64_t ResidentBytesOf(pid_t pid);
double CpuSecondsOf(pid_t pid);

// The time when the machine started, in Unix seconds, from the line "btime" of a file with the
// format of /proc/stat; 0 if there is none. The line comes after a line for each CPU and a long one
// for interrupts, so the file must be read as a whole.
double BootSecondsIn(const std::string& path);

// The version of this build, as --version prints it.
absl::string_view BuildVersion();

// Collects the metrics process_*, under the standard names of Prometheus' client libraries, and
// mallocmuzero_build_info.
class ProcessCollector : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_PROCESS_USAGE_H_
