// What keeps the streams of a shard waiting.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_
#define MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

struct ReplayBlock {
  enum class On : uint8_t { kNothing, kDisk, kDraining, kRateLimiter, kMinSize };
  On on = On::kNothing;
  std::string why;  // in a few words

  // As in RoleStatus: it is no lack of anything.
  bool flow_control() const { return on == On::kRateLimiter || on == On::kMinSize; }
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_BLOCK_H_
