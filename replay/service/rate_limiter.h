// Keeps the ratio of drawn to inserted positions near samples_per_insert.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_
#define MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/check_field.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {

// Counts positions, by the rules of RateLimit in replay.proto. At any time it admits a draw, an
// insert or both, so it cannot deadlock. Not thread-safe.
class RateLimiter {
 public:
  // The wrong fields of a limit: it would block for ever, or its min_positions exceeds
  // `max_positions`.
  static std::vector<WrongField> Wrong(const v1::RateLimit& limit, uint64_t max_positions);

  // The first of them as InvalidArgument, which names the field.
  static absl::Status Check(const v1::RateLimit& limit, uint64_t max_positions);

  // `limit` must have passed Check. `inserted` and `drawn` are the counts of earlier runs, and
  // `offset` is their offset().
  explicit RateLimiter(const v1::RateLimit& limit, uint64_t inserted = 0, uint64_t drawn = 0,
                       double offset = 0);

  // Replaces the limit by one that has passed Check. The error stays, within the new limit's
  // error_buffer: earlier positions are not counted again by the new limit. An equal limit changes
  // nothing.
  void SetLimit(const v1::RateLimit& limit);
  const v1::RateLimit& limit() const { return limit_; }

  // The draws that RateLimit's rules add to those made: what makes the error stay when the limit
  // changes.
  double offset() const { return offset_; }

  // Whether an insert may begin while `stored` positions are stored and `pending` more are being
  // inserted. An admitted insert may exceed the limit, because items are not split.
  bool MayInsert(uint64_t stored, uint64_t pending) const;

  // The number of draws that may be made while `stored` positions are stored; UINT64_MAX if there
  // is no bound.
  uint64_t MayDraw(uint64_t stored) const;

  // Count positions that were inserted, draws that were made, and draws that no client got.
  void CountInserted(uint64_t positions) { inserted_ += positions; }
  void CountDrawn(uint64_t draws) { drawn_ += draws; }
  void CountUndelivered(uint64_t draws) { drawn_ -= std::min(draws, drawn_); }

  uint64_t inserted() const { return inserted_; }
  uint64_t drawn() const { return drawn_; }

  // The value of ReplayStats.limiter_error; 0 without a limit.
  double error() const { return limit_.samples_per_insert() > 0 ? Error(inserted_) : 0; }

 private:
  double Error(uint64_t inserted) const;

  // The error once at least min_positions are inserted, if no more is inserted or drawn until then.
  double LaterError() const;

  v1::RateLimit limit_;
  uint64_t inserted_;
  uint64_t drawn_;
  double offset_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_RATE_LIMITER_H_
