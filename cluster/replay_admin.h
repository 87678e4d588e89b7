// The requests of an operator to a running replay shard.

#ifndef MALLOCMUZERO_CLUSTER_REPLAY_ADMIN_H_
#define MALLOCMUZERO_CLUSTER_REPLAY_ADMIN_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

// Every function blocks for one call. The deadline is 10 s, and 5 minutes for ListIds, Checkpoint,
// Retire and TakeOver; Export has none. Errors are the shard's own, with its address in front;
// Unavailable if the shard cannot be reached. Thread-safe.
class ReplayAdmin {
 public:
  // `address` is host:port. Does not connect yet.
  ReplayAdmin(std::string address, std::shared_ptr<const Security> security);
  ~ReplayAdmin();
  ReplayAdmin(const ReplayAdmin&) = delete;
  ReplayAdmin& operator=(const ReplayAdmin&) = delete;

  // Calls `take` with the id (16 bytes) of each stored trajectory and of each evicted one that the
  // shard remembers.
  absl::Status ListIds(const std::function<void(absl::string_view id, bool stored)>& take) const;

  // Sets the rate limit until the shard's next start. InvalidArgument, and no change, if the limit
  // would block for ever.
  absl::Status SetRateLimit(const v1::RateLimit& limit) const;
  // Makes the shard refuse inserts, or take them again, until its next start.
  absl::Status Drain(bool draining) const;

  // Makes a copy of a durable shard. Returns its folder on the shard's machine, and the folders of
  // older copies that the shard has removed. FailedPrecondition for a shard in mode MEMORY.
  absl::StatusOr<v1::CheckpointResponse> Checkpoint() const;

  // The shard's statistics, which every caller may read.
  absl::StatusOr<v1::ReplayStats> Stats() const;

  // Takes the shard out of the cluster for good; see replay.proto.
  absl::Status Retire() const;

  // Passes everything that a retired shard holds to `take`, part by part. Ends with the first error
  // of `take`. Takes as long as it takes.
  absl::Status Export(const std::function<absl::Status(const v1::MovedItems&)>& take) const;

  // Gives the shard a part of another one; see replay.proto.
  absl::StatusOr<v1::TakeOverResponse> TakeOver(const v1::TakeOverRequest& request) const;

 private:
  struct Stub;

  const std::string address_;
  const std::shared_ptr<const Security> security_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_REPLAY_ADMIN_H_
