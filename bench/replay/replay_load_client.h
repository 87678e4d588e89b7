#ifndef MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_CLIENT_H_
#define MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_CLIENT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/percentile.h"
#include "base/rounding.h"

namespace mallocmuzero::bench {

// Counts of times, in steps of 5% from a microsecond on.
class TimeHistogram {
 public:
  void Add(absl::Duration time) {
    const double steps = std::log(std::max(1.0, absl::ToDoubleMicroseconds(time))) / kStep;
    ++counts_[std::min<size_t>(counts_.size() - 1, RoundToZero(steps))];
  }

  void Add(const TimeHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

  // The middle of the step in which the percentile is (base/percentile.h), milliseconds; 0 if
  // nothing was added.
  double PercentileMs(double share) const {
    int64_t sum = 0;
    for (const int64_t count : counts_) sum += count;
    if (sum == 0) return 0;
    int64_t left = PercentileIndex(share, sum);
    size_t i = 0;
    while (i + 1 < counts_.size() && left >= counts_[i]) left -= counts_[i++];
    return std::exp((static_cast<double>(i) + 0.5) * kStep) / 1000;
  }

 private:
  static constexpr double kStep = 0.04879;  // ln 1.05
  std::array<int64_t, 400> counts_{};
};

// The result of one client in one measurement. Trivially copyable: it goes from process to process
// as bytes.
struct ClientResult {
  double per_second = 0;  // items
  TimeHistogram times;    // of an insert until it is acknowledged, of a call that draws a batch
};

// Items that a call draws, fewer the larger they are.
uint32_t BatchOf(size_t item_bytes);

// Inserts `items` of `item_bytes` into the shard at `address` and waits for all acknowledgements.
// Clients of different numbers insert different ids.
void InsertItems(const std::string& address, size_t item_bytes, uint32_t client, uint64_t items);

// Inserts as fast as the shard takes them, for a second first and then for `seconds` that count.
ClientResult MeasureInserts(const std::string& address, size_t item_bytes, uint32_t client,
                            double seconds);

// Draws batches likewise. The shard's error if it has nothing to draw for a minute.
absl::StatusOr<ClientResult> MeasureSamples(const std::string& address, size_t item_bytes,
                                            double seconds);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_CLIENT_H_
