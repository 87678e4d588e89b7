// Self-play on several threads.

#ifndef MALLOCMUZERO_TRAIN_PLAYER_POOL_H_
#define MALLOCMUZERO_TRAIN_PLAYER_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/self_play.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/network.h"

namespace mallocmuzero {

struct PlayedGames {
  // The games in the order of the tasks. If play was stopped, some are missing.
  std::vector<v1::Trajectory> games;
  SelfPlayStats stats;  // seconds are those of all threads
};

// Plays tasks on `threads` threads. Each thread has its own share of the tasks and up to
// `max_in_flight` of them in flight. The thread that plays a game influences only the rounding in
// its batches. Blocks until all games are played or `stop`, which may be null, is true. Errors are
// those of SelfPlay::Create and Play.
absl::StatusOr<PlayedGames> PlayOnThreads(absl::Span<const GameTask> tasks,
                                          const SearchConfig& search, uint32_t threads,
                                          uint32_t max_in_flight,
                                          const std::shared_ptr<const NetworkSnapshot>& network,
                                          uint64_t network_step, const std::function<bool()>& stop);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_PLAYER_POOL_H_
