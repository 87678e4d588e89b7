// The reason why the streams of a shard wait.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_
#define MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

// `why` is empty for kNothing.
struct ReplayBlock {
  enum class On : uint8_t { kNothing, kDisk, kDraining, kRateLimiter, kMinSize };
  On on = On::kNothing;
  std::string why;  // in a few words

  // Whether this is flow control at work (RoleStatus.flow_control) and not a fault.
  bool flow_control() const { return on == On::kRateLimiter || on == On::kMinSize; }
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_
