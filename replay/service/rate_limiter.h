// Holds the ratio between what is drawn and what is inserted.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_
#define MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {

// See RateLimit in replay.proto. Counts positions. At any time it lets a draw or an insert through,
// or both. Not thread-safe.
class RateLimiter {
 public:
  // InvalidArgument, naming the field and what would be right, for a limit that would block for
  // ever, or that asks for more than a shard of `max_positions` holds.
  static absl::Status Check(const v1::RateLimit& limit, uint64_t max_positions);

  // `limit` has been checked; the counts are those of earlier runs of the shard.
  explicit RateLimiter(const v1::RateLimit& limit, uint64_t inserted = 0, uint64_t drawn = 0);

  void SetLimit(const v1::RateLimit& limit) { limit_ = limit; }
  const v1::RateLimit& limit() const { return limit_; }

  // Whether an insert may begin while `stored` positions are stored and `pending` more are being
  // inserted. One that has begun may go beyond the limit: an item is not cut.
  bool MayInsert(uint64_t stored, uint64_t pending) const;

  // How many draws may be made now; UINT64_MAX: any number.
  uint64_t MayDraw(uint64_t stored) const;

  void CountInserted(uint64_t positions) { inserted_ += positions; }
  void CountDrawn(uint64_t positions) { drawn_ += positions; }

  uint64_t inserted() const { return inserted_; }
  uint64_t drawn() const { return drawn_; }

  // ReplayStats.limiter_error; 0 without a limit.
  double error() const { return limit_.samples_per_insert() > 0 ? Error(inserted_) : 0; }

 private:
  double Error(uint64_t inserted) const;

  v1::RateLimit limit_;
  uint64_t inserted_;
  uint64_t drawn_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_
