#include "replay/service/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {
namespace {

constexpr double kMostSamples = 1e6;  // per insert

// The largest value of a limit: larger counts would lose precision as double.
constexpr double kMost = 1e12;

}  // namespace

std::vector<WrongField> RateLimiter::Wrong(const v1::RateLimit& limit, uint64_t max_positions) {
  std::vector<WrongField> wrong;
  // The negated conditions also refuse NaN.
  if (!(limit.samples_per_insert() >= 0 && limit.samples_per_insert() <= kMostSamples)) {
    wrong.push_back(
        {"samples_per_insert",
         absl::StrCat(limit.samples_per_insert(), ", must be 0 (no limit) to ", kMostSamples)});
  }
  if (limit.min_positions() > max_positions) {
    wrong.push_back(
        {"min_positions", absl::StrCat(limit.min_positions(), ", but no more than max_positions (",
                                       max_positions, ") are ever stored")});
  }
  if (limit.samples_per_insert() > 0 &&
      !(limit.error_buffer() >= 1 && limit.error_buffer() <= kMost)) {
    wrong.push_back(
        {"error_buffer", absl::StrCat(limit.error_buffer(), ", must be 1 to ", kMost,
                                      " with samples_per_insert: draws and inserts would wait for "
                                      "each other")});
  }
  return wrong;
}

absl::Status RateLimiter::Check(const v1::RateLimit& limit, uint64_t max_positions) {
  return FirstWrong(Wrong(limit, max_positions), "rate_limit.");
}

RateLimiter::RateLimiter(const v1::RateLimit& limit, uint64_t inserted, uint64_t drawn,
                         double offset)
    : limit_(limit), inserted_(inserted), drawn_(drawn), offset_(offset) {}

void RateLimiter::SetLimit(const v1::RateLimit& limit) {
  if (limit.samples_per_insert() == limit_.samples_per_insert() &&
      limit.min_positions() == limit_.min_positions() &&
      limit.error_buffer() == limit_.error_buffer()) {
    return;
  }
  const double before = limit_.samples_per_insert() > 0 ? LaterError() : 0;
  limit_ = limit;
  offset_ = 0;
  if (limit.samples_per_insert() == 0) return;
  offset_ = std::clamp(before, -limit.error_buffer(), limit.error_buffer()) - LaterError();
}

double RateLimiter::Error(uint64_t inserted) const {
  const double counted =
      static_cast<double>(inserted) - static_cast<double>(limit_.min_positions());
  return static_cast<double>(drawn_) + offset_ - counted * limit_.samples_per_insert();
}

double RateLimiter::LaterError() const {
  return Error(std::max<uint64_t>(inserted_, limit_.min_positions()));
}

bool RateLimiter::MayInsert(uint64_t stored, uint64_t pending) const {
  if (limit_.samples_per_insert() == 0) return true;
  // MayDraw admits no draw in these cases, so inserts must not wait for one.
  if (inserted_ + pending < limit_.min_positions() || stored + pending == 0) return true;
  return Error(inserted_ + pending) > -limit_.error_buffer();
}

uint64_t RateLimiter::MayDraw(uint64_t stored) const {
  // min_positions is compared with the inserted count and not with `stored`: because whole items
  // leave, `stored` may stay below min_positions for ever.
  if (stored == 0 || inserted_ < limit_.min_positions()) return 0;
  if (limit_.samples_per_insert() == 0) return UINT64_MAX;
  const double room = limit_.error_buffer() - Error(inserted_);
  return room <= 0 ? 0 : RoundToZero(std::ceil(std::min(room, kMost)));
}

}  // namespace mallocmuzero
