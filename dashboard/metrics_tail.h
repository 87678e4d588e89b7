// Follows the metrics of a training run while it writes them.

#ifndef MALLOCMUZERO_DASHBOARD_METRICS_TAIL_H_
#define MALLOCMUZERO_DASHBOARD_METRICS_TAIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// The lines of a metrics.jsonl. Thread-compatible.
class MetricsTail {
 public:
  explicit MetricsTail(std::string path) : path_(std::move(path)) {}

  // Reads the lines that were appended since the last call. If the file was replaced or has become
  // shorter, reads all of it. A missing file is an empty one. A line without its end is read later;
  // a damaged line is left out and counted. Internal if the file cannot be read.
  absl::Status Refresh();

  const std::vector<v1::TrainMetrics>& iterations() const { return iterations_; }
  uint32_t damaged_lines() const { return damaged_lines_; }

  // When the file last changed; InfinitePast if there is none.
  absl::Time changed() const { return changed_; }

 private:
  absl::Status ReadNewLines(int file, uint64_t size);
  // False for a new file that has the number of a removed one.
  bool HasLastBytes(int file) const;
  void TakeLines();
  void Forget();

  std::string path_;
  std::vector<v1::TrainMetrics> iterations_;
  uint32_t damaged_lines_ = 0;
  absl::Time changed_ = absl::InfinitePast();

  // The file that was read, the bytes that were read, those of them behind the last newline, and
  // the last ones.
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  uint64_t read_bytes_ = 0;
  std::string rest_;
  std::string last_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_METRICS_TAIL_H_
