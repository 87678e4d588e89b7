// Keeps times of a measurement of any length in bounded memory.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_
#define MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/percentile.h"

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

  // The lower one of the two middle times if their number is even; 0 if there is none.
  double Median() const { return Percentile(kept_, 0.5); }

 private:
  std::vector<double> kept_;
  uint64_t every_ = 1;
  uint64_t added_ = 0;
};

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_SAMPLED_TIMES_H_
