// How large the batches given to a network were.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_BATCH_HISTOGRAM_H_
#define MALLOCMUZERO_ACTOR_SEARCH_BATCH_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mallocmuzero {

// Bucket b counts the batches of 2^b to 2^(b + 1) - 1 rows.
class BatchHistogram {
 public:
  static constexpr size_t kBuckets = 32;

  // `rows` must be positive.
  void Add(uint32_t rows) {
    ++buckets_[std::bit_width(rows) - 1];
    ++batches_;
    rows_ += rows;
  }

  void Add(const BatchHistogram& other) {
    for (size_t b = 0; b < kBuckets; ++b) buckets_[b] += other.buckets_[b];
    batches_ += other.batches_;
    rows_ += other.rows_;
  }

  const std::array<uint64_t, kBuckets>& buckets() const { return buckets_; }
  uint64_t batches() const { return batches_; }
  uint64_t rows() const { return rows_; }

 private:
  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t batches_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_BATCH_HISTOGRAM_H_
