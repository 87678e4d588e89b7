#include "replay/service/shard_config.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/rate_limiter.h"

namespace mallocmuzero {
namespace {

constexpr double kMaxExponent = 4;

}  // namespace

absl::StatusOr<v1::ReplayShard> CompleteShardConfig(v1::ReplayShard config) {
  if (config.mode() == v1::ReplayShard::MODE_UNSPECIFIED) config.set_mode(v1::ReplayShard::MEMORY);
  if (config.eviction() == v1::ReplayShard::EVICTION_UNSPECIFIED) {
    config.set_eviction(v1::ReplayShard::OLDEST_FIRST);
  }
  if (config.max_positions() == 0) config.set_max_positions(kDefaultMaxPositions);
  if (config.max_bytes() == 0) config.set_max_bytes(kDefaultMaxBytes);
  if (config.remember_evicted_seconds() == 0) {
    config.set_remember_evicted_seconds(kDefaultRememberEvictedSeconds);
  }
  if (config.remember_evicted_bytes() == 0) {
    config.set_remember_evicted_bytes(kDefaultRememberEvictedBytes);
  }
  if (config.listen_address().empty()) config.set_listen_address(config.address());
  if (config.mode() != v1::ReplayShard::MEMORY && config.data_dir().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("data_dir: empty, must name a folder in mode ",
                                                   v1::ReplayShard::Mode_Name(config.mode())));
  }
  // The negated condition also refuses NaN.
  if (!(config.priority_exponent() >= 0 && config.priority_exponent() <= kMaxExponent)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "priority_exponent: ", config.priority_exponent(), ", must be 0 to ", kMaxExponent));
  }
  MMZ_RETURN_IF_ERROR(RateLimiter::Check(config.rate_limit(), config.max_positions()));
  return config;
}

}  // namespace mallocmuzero
