// What an operator asks of a running replay shard.

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

// Every call has a deadline. Errors are those of the shard, with its address; Unavailable if it is
// away.
class ReplayAdmin {
 public:
  ReplayAdmin(std::string address, std::shared_ptr<const Security> security);
  ~ReplayAdmin();
  ReplayAdmin(const ReplayAdmin&) = delete;
  ReplayAdmin& operator=(const ReplayAdmin&) = delete;

  // The ids (16 bytes) of what is stored, and of what was and has been evicted.
  absl::Status ListIds(const std::function<void(absl::string_view id, bool stored)>& take) const;

  // InvalidArgument, and no change, if such a limiter would block for ever. Until the next start.
  absl::Status SetRateLimit(const v1::RateLimit& limit) const;
  absl::Status Drain(bool draining) const;

  // The folder of the copy, on the shard's machine.
  absl::StatusOr<std::string> Checkpoint() const;

 private:
  struct Stub;

  absl::Status Error(const absl::Status& status) const;

  const std::string address_;
  const std::shared_ptr<const Security> security_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_REPLAY_ADMIN_H_
