// The services Learner and Status of a learner.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_SERVICE_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_SERVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "learner/role/scored_versions.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Serves the newest weights, the candidate, and the assignment that was set last. Has no threads of
// its own, so a thousand watchers take only memory. Thread-safe.
class LearnerService final : public v1::Learner::CallbackService {
 public:
  // Takes a report and returns orders, to which the service adds the step, the candidate and the
  // assignment's version. Called from gRPC's threads, so it must not block for long. Its errors go
  // to the actor.
  using Reported = std::function<absl::StatusOr<v1::ActorOrders>(const v1::ActorReport&)>;

  // Returns the version that actors evaluate; null if there is none. Must not block.
  using Candidate = std::function<std::shared_ptr<const PublishedWeights>()>;

  // Superseded weights that transfers still need may take `most_held_bytes`. Beyond that, the
  // transfers of the newest superseded weights end, so that the oldest transfers always finish.
  LearnerService(std::shared_ptr<const Security> security, Reported reported, Candidate candidate,
                 uint64_t most_held_bytes = kMostHeldBytes);
  static constexpr uint64_t kMostHeldBytes = uint64_t{1} << 30;

  // The server must have shut down before.
  ~LearnerService() override;

  // Sets the answer of GetAssignment, whose version is filled in here, and the program files that
  // it names, by their SHA-256.
  using Files = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;
  void SetAssignment(v1::Assignment assignment, Files programs);

  // Sets the newest weights, as the bytes of a checkpoint file, notifies all watchers, and returns
  // the weights.
  std::shared_ptr<const PublishedWeights> Publish(uint64_t step, std::string bytes);

  // Ends all streams, and later ones at once, with UNAVAILABLE. Call before the server shuts down.
  void EndStreams();

  // The step of the newest weights, the number of open watch streams, and the bytes of files sent.
  uint64_t published_step() const;
  size_t watchers() const;
  uint64_t fetched_bytes() const;

  // The calls of the service Learner; see learner.proto.
  grpc::ServerWriteReactor<v1::CheckpointNotice>* WatchCheckpoint(
      grpc::CallbackServerContext* context, const v1::WatchCheckpointRequest* request) override;
  grpc::ServerWriteReactor<v1::FetchResponse>* Fetch(grpc::CallbackServerContext* context,
                                                     const v1::FetchRequest* request) override;
  grpc::ServerUnaryReactor* GetAssignment(grpc::CallbackServerContext* context,
                                          const v1::GetAssignmentRequest* request,
                                          v1::Assignment* response) override;
  grpc::ServerUnaryReactor* Report(grpc::CallbackServerContext* context,
                                   const v1::ActorReport* request,
                                   v1::ActorOrders* response) override;

 private:
  class Watcher;
  class Sender;

  // The file that a Fetch sends. `number` is that of the weights; 0 for a program.
  struct Fetched {
    std::shared_ptr<const std::string> bytes;
    uint64_t number = 0;
  };
  absl::StatusOr<Fetched> Find(const v1::FetchRequest& request) const;

  // OK if a transfer of this version may send its next `bytes` bytes, which are counted.
  // UNAVAILABLE once streams end, NOT_FOUND if the version is too far behind the newest.
  grpc::Status MaySend(uint64_t number, size_t bytes);
  void BeginTransfer(const Fetched& file);
  void EndTransfer(const Fetched& file);
  void EndNewestTransfers(uint64_t candidate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const Security> security_;
  const Reported reported_;
  const Candidate candidate_;
  const uint64_t most_held_bytes_;

  mutable absl::Mutex mutex_;
  v1::Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  Files programs_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const PublishedWeights> newest_ ABSL_GUARDED_BY(mutex_);  // null: none yet

  // The weights that are being sent, by their number.
  struct Sent {
    uint64_t bytes = 0;
    size_t transfers = 0;
    bool ended = false;  // the transfers are to end
  };
  std::map<uint64_t, Sent> sent_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  uint64_t fetched_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// The service Status, which answers with the result of `describe`.
class RoleStatusService final : public v1::Status::CallbackService {
 public:
  RoleStatusService(std::shared_ptr<const Security> security,
                    std::function<v1::RoleStatus()> describe)
      : security_(std::move(security)), describe_(std::move(describe)) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::RoleStatus* response) override;

 private:
  const std::shared_ptr<const Security> security_;
  const std::function<v1::RoleStatus()> describe_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_SERVICE_H_
