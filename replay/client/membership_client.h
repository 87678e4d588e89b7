// Asks a learner for the cluster's list of shards, and for changes of the list.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_MEMBERSHIP_CLIENT_H_
#define MALLOCMUZERO_REPLAY_CLIENT_MEMBERSHIP_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/shards.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

// Each function makes a connection to the learner at `address` (host:port) and blocks for one call,
// at most `timeout`. Errors are the learner's own; Unavailable or DeadlineExceeded if it does not
// answer.
absl::StatusOr<v1::ShardRoster> GetShards(const std::string& address, const Security& security,
                                          absl::Duration timeout);

// Needs the administrators' token, or must be called on the learner's machine if none is
// configured.
absl::StatusOr<v1::ShardRoster> ChangeShards(const std::string& address, const Security& security,
                                             const v1::ChangeShardsRequest& request,
                                             absl::Duration timeout);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_MEMBERSHIP_CLIENT_H_
