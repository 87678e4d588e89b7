// Moves the games of a shard that leaves the cluster to its heirs.

#ifndef MALLOCMUZERO_CLUSTER_SHARD_MOVE_H_
#define MALLOCMUZERO_CLUSTER_SHARD_MOVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/shards.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

struct MovedGames {
  uint64_t games = 0;        // sent to heirs
  uint64_t evicted_ids = 0;  // ids of evicted games, which heirs remember

  // Games that are lost: those that the shard could not read, and those that are too large for
  // their heir, with the heir's reason for the first.
  uint64_t damaged = 0;
  uint64_t refused = 0;
  std::string why_refused;
};

// Retires the shard `name` of the list, in which it must be leaving, and copies its games to its
// heirs. Returns once the disks of all heirs have them and the heirs list all of their ids. May be
// called again after any error: heirs take each game once. `progress` is called after each part.
// Blocks until all is done; tries heirs that are away again for up to `patience`. Unavailable if
// the shard or an heir does not answer; Internal, and nothing is done, if CheckRoster refuses the
// list.
absl::StatusOr<MovedGames> MoveGames(const v1::ShardRoster& roster, const std::string& name,
                                     const std::shared_ptr<const Security>& security,
                                     const std::function<void(const MovedGames&)>& progress,
                                     absl::Duration patience = absl::Minutes(2));

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SHARD_MOVE_H_
