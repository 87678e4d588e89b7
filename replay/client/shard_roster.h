// The changes of a cluster's list of replay shards, and the shard of each game.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SHARD_ROSTER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SHARD_ROSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "replay/client/shard_address.h"

namespace mallocmuzero {

// The list of a new run: the shards of the configuration, all active.
v1::ShardRoster RosterOf(const v1::ClusterConfig& config);
v1::ShardRoster RosterOf(const std::vector<ShardAddress>& shards);

// Returns a hash of the list, never 0. Lists of different runs differ even if their epochs do not.
uint64_t RosterFingerprint(const v1::ShardRoster& roster);

// The active shards, in the order of the list.
std::vector<ShardAddress> ActiveShards(const v1::ShardRoster& roster);

// Returns the name of the active shard for a game that belongs to the shard `name`. This is the
// shard itself or, once it leaves, the heir that the game's id selects. Empty if the list does not
// have the shard.
std::string ShardOfGame(const v1::ShardRoster& roster, absl::string_view name,
                        absl::string_view id);

// The latest shard of a name of the configuration, or null.
const v1::ShardRoster::Shard* LatestShard(const v1::ShardRoster& roster, absl::string_view name);

// OK if the list could be of a learner. Each shard has a name of its own, an address and a state,
// and ShardOfGame finds an active shard for each game. Errors are one line.
absl::Status CheckRoster(const v1::ShardRoster& roster);

// Each of these returns the changed list with the next epoch, or the same list if the change was
// made before.

// Adds an active shard. The name of a shard that has left may be used again. The new shard is then
// in the list as NAME#2, NAME#3 and so on, because actors may still have games for the earlier one.
// InvalidArgument if the name or the address is malformed; FailedPrecondition if another shard has
// the name or the address.
absl::StatusOr<v1::ShardRoster> AddShard(v1::ShardRoster roster, const std::string& name,
                                         const std::string& address);

// Makes the latest shard of this name leave and all other active ones its heirs. NotFound if there
// is no such shard; FailedPrecondition if it is the only active one, if another one has its
// address, or if another shard is leaving: the heirs of a leaving shard must stay the same until
// its games have been moved.
absl::StatusOr<v1::ShardRoster> BeginRemoval(v1::ShardRoster roster, const std::string& name);

// Marks the latest shard of this name as having left. NotFound if there is no such shard;
// FailedPrecondition if it is active.
absl::StatusOr<v1::ShardRoster> EndRemoval(v1::ShardRoster roster, const std::string& name);

// A list brought up to date with a configuration that may be older or newer than the list.
struct Reconciled {
  v1::ShardRoster roster;
  std::vector<std::string> notes;  // differences that an operator should know, a line each
};

// The list's states hold. Addresses of the configuration replace those of the list, because a shard
// may have moved to another machine, and shards that the list does not know are added.
// InvalidArgument if no shard is active then, if the list has none of the configuration's shards,
// or if a new one has the address of a shard of the list.
absl::StatusOr<Reconciled> Reconcile(v1::ShardRoster roster, const v1::ClusterConfig& config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SHARD_ROSTER_H_
