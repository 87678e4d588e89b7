// Keeps times of a measurement of any length in bounded memory.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_
#define MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mallocmuzero::bench {

// Times of which it keeps all while they are few, then every second, every fourth and so on.
class SampledTimes {
 public:
  static constexpr size_t kMost = size_t{1} << 16;  // that are kept

  void Add(double seconds) {
    if (added_++ % every_ != 0) return;
    if (kept_.size() == kMost) {
      for (size_t k = 0; k < kMost / 2; ++k) kept_[k] = kept_[2 * k];
      kept_.resize(kMost / 2);
      every_ *= 2;
    }
    kept_.push_back(seconds);
  }

  size_t kept() const { return kept_.size(); }

  // The upper one of the two middle times if their number is even. There must be one.
  double Median() const {
    std::vector<double> times = kept_;
    const auto median = times.begin() + times.size() / 2;
    std::nth_element(times.begin(), median, times.end());
    return *median;
  }

 private:
  std::vector<double> kept_;
  uint64_t every_ = 1;
  uint64_t added_ = 0;
};

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_
