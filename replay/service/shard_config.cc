#include "replay/service/shard_config.h"

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/rate_limiter.h"

namespace mallocmuzero {

absl::Span<const FieldRange> ShardRanges() {
  constexpr double kMebibyte = 1 << 20;
  constexpr double kHuge = std::numeric_limits<double>::max();
  static constexpr FieldRange kRanges[] = {
      {"max_positions", 1, 4294967296.0},
      {"max_bytes", kMebibyte, kHuge},
      {"best_games", 0, 1 << 20},
      {"priority_exponent", 0, 1},
      // At least a minute, because an actor that was cut off sends its unacknowledged games again.
      {"remember_evicted_seconds", 60, 366 * 86400.0},
      {"remember_evicted_bytes", kMebibyte, kHuge},
      {"copies", 1, 100000},
      {"copy_bytes", kMebibyte, kHuge}};
  return kRanges;
}

std::vector<WrongField> WrongShardFields(const v1::ReplayShard& config) {
  std::vector<WrongField> wrong;
  if (config.mode() == v1::ReplayShard::MODE_UNSPECIFIED) {
    wrong.push_back({"mode", "MEMORY, DURABLE or DURABLE_SYNC expected"});
  }
  if (config.eviction() == v1::ReplayShard::EVICTION_UNSPECIFIED) {
    wrong.push_back({"eviction", "OLDEST_FIRST or LEAST_VALUED_FIRST expected"});
  }
  for (const WrongField& field : RateLimiter::Wrong(config.rate_limit(), config.max_positions())) {
    wrong.push_back({absl::StrCat("rate_limit.", field.field), field.message});
  }
  if (config.mode() != v1::ReplayShard::MEMORY && config.data_dir().empty()) {
    wrong.push_back({"data_dir", "empty; the folder of a durable shard expected"});
  }
  return wrong;
}

absl::Status CheckShardConfig(const v1::ReplayShard& config) {
  MMZ_RETURN_IF_ERROR(FirstWrong(OutOfRange(config, ShardRanges()), ""));
  return FirstWrong(WrongShardFields(config), "");
}

}  // namespace mallocmuzero
