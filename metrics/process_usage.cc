#include "metrics/process_usage.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/rounding.h"
#include "build_info.h"

namespace mallocmuzero {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Reads a file of /proc to its end, since such files have no size. Empty if it cannot be read.
std::string ReadProcFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  std::string text;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof(buffer), file)) {
    text.append(buffer, size);
  }
  std::fclose(file);
  return text;
}

double NumberAt(const std::vector<std::string>& fields, size_t index) {
  double number = 0;
  if (index >= fields.size() || !absl::SimpleAtod(fields[index], &number)) return 0;
  return number;
}

// The fields of /proc/PID/stat from the third on. The second one, the program's name in
// parentheses, may contain spaces. Empty if there is no such process.
std::vector<std::string> ReadStat(pid_t pid) {
  const std::string stat = ReadProcFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(stat.substr(name_end + 2), ' ');
}

// The field with this number in proc(5), which counts from 1.
double StatField(const std::vector<std::string>& stat, size_t number) {
  return NumberAt(stat, number - 3);
}

double TicksPerSecond() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

double CpuSeconds(const std::vector<std::string>& stat) {
  return (StatField(stat, 14) + StatField(stat, 15)) / TicksPerSecond();
}

uint32_t CountOpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint32_t entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  // Three entries do not count: ".", ".." and the folder that is being read.
  return entries > 3 ? entries - 3 : 0;
}

MetricFamily MakeFamily(const char* name, const char* help, MetricType type, double value) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(metric);
  return family;
}

MetricFamily MakeBuildInfo() {
  MetricFamily family = MakeFamily("mallocmuzero_build_info", "1; the labels say what was built.",
                                   MetricType::Gauge, 1);
  family.metric[0].label = {{"commit", kGitCommit}, {"version", kVersion}};
  return family;
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  ProcessUsage usage;
  const std::vector<std::string> stat = ReadStat(getpid());
  usage.cpu_seconds = CpuSeconds(stat);
  usage.threads = RoundToZero(StatField(stat, 20));
  static const double kBoot = BootSecondsIn("/proc/stat");
  usage.start_seconds = kBoot + StatField(stat, 22) / TicksPerSecond();
  usage.virtual_bytes = RoundToZero(StatField(stat, 23));
  usage.resident_bytes = ResidentBytes();
  usage.open_files = CountOpenFiles();
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.most_open_files = limit.rlim_cur;
  return usage;
}

uint64_t ResidentBytes() { return ResidentBytesOf(getpid()); }

uint64_t ResidentBytesOf(pid_t pid) {
  const std::string statm = ReadProcFile(absl::StrCat("/proc/", pid, "/statm"));
  const std::vector<std::string> pages = absl::StrSplit(statm, ' ');
  return RoundToZero(NumberAt(pages, 1)) * sysconf(_SC_PAGESIZE);
}

double CpuSecondsOf(pid_t pid) { return CpuSeconds(ReadStat(pid)); }

double BootSecondsIn(const std::string& path) {
  const std::string stat = ReadProcFile(path);
  for (absl::string_view line : absl::StrSplit(stat, '\n')) {
    double seconds = 0;
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &seconds)) return seconds;
  }
  return 0;
}

absl::string_view BuildVersion() { return kVersion; }

std::vector<MetricFamily> ProcessCollector::Collect() const {
  const ProcessUsage usage = ReadProcessUsage();
  const auto gauge = [](const char* name, const char* help, double value) {
    return MakeFamily(name, help, MetricType::Gauge, value);
  };
  std::vector<MetricFamily> families;
  families.push_back(MakeFamily("process_cpu_seconds_total", "User and system time spent.",
                                MetricType::Counter, usage.cpu_seconds));
  families.push_back(gauge("process_resident_memory_bytes", "Memory in RAM.",
                           static_cast<double>(usage.resident_bytes)));
  families.push_back(gauge("process_virtual_memory_bytes", "Address space.",
                           static_cast<double>(usage.virtual_bytes)));
  families.push_back(gauge("process_open_fds", "Open files and sockets.", usage.open_files));
  families.push_back(gauge("process_max_fds", "Files and sockets that may be open.",
                           static_cast<double>(usage.most_open_files)));
  families.push_back(gauge("process_threads", "Threads.", usage.threads));
  families.push_back(gauge("process_start_time_seconds", "When the process began, since the epoch.",
                           usage.start_seconds));
  families.push_back(MakeBuildInfo());
  return families;
}

}  // namespace mallocmuzero
