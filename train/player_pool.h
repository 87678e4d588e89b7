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
  // In the order of the tasks. If play was stopped, fewer.
  std::vector<v1::Trajectory> games;
  SelfPlayStats stats;  // seconds are those of all threads
};

// Plays tasks on `threads` threads, each with its own share of them, all in flight at once up to
// `max_in_flight` a thread. Which thread plays a game does not matter to the game but for the
// rounding of batches. Blocks until all are played or `stop` is true. Errors are those of
// SelfPlay::Create.
absl::StatusOr<PlayedGames> PlayOnThreads(absl::Span<const GameTask> tasks,
                                          const SearchConfig& search, uint32_t threads,
                                          uint32_t max_in_flight,
                                          const std::shared_ptr<const NetworkSnapshot>& network,
                                          uint64_t network_step, const std::function<bool()>& stop);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_PLAYER_POOL_H_
