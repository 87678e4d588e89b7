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
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Serves whatever was published last. Without threads of its own: a thousand watchers take memory
// only. Thread-safe.
class LearnerService final : public v1::Learner::CallbackService {
 public:
  // Takes a report and says what to play; the step and the assignment's version are filled in here.
  using Reported = std::function<absl::StatusOr<v1::ActorOrders>(const v1::ActorReport&)>;

  // Superseded weights that transfers still need take up to `most_held_bytes`; beyond, the newest
  // of these transfers end, so that the oldest are always finished.
  LearnerService(std::shared_ptr<const Security> security, Reported reported,
                 uint64_t most_held_bytes = kMostHeldBytes);
  static constexpr uint64_t kMostHeldBytes = uint64_t{1} << 30;
  ~LearnerService() override;

  // What GetAssignment answers from now on, its version filled in, and the program files that it
  // names, by their SHA-256.
  using Files = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;
  void SetAssignment(v1::Assignment assignment, Files programs);

  // Newer weights, a checkpoint file: all watchers hear of them.
  void Publish(uint64_t step, std::string bytes);

  // Ends all streams with UNAVAILABLE, and new ones at once: before the server shuts down.
  void EndStreams();

  uint64_t published_step() const;
  size_t watchers() const;
  uint64_t fetched_bytes() const;

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

  // The bytes that a Fetch sends, and which version of the weights they are; 0: a program.
  struct Fetched {
    std::shared_ptr<const std::string> bytes;
    uint64_t version = 0;
  };
  absl::StatusOr<Fetched> Find(const v1::FetchRequest& request) const;

  // OK if a transfer of that version may go on, whose next bytes are counted.
  grpc::Status MaySend(uint64_t version, size_t bytes);
  void BeginTransfer(const Fetched& file);
  void EndTransfer(const Fetched& file);
  void EndNewestTransfers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const Security> security_;
  const Reported reported_;
  const uint64_t most_held_bytes_;

  mutable absl::Mutex mutex_;
  v1::Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  Files programs_ ABSL_GUARDED_BY(mutex_);
  v1::CheckpointNotice newest_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> weights_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // how many were published

  // The weights that are being sent, by version.
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

// Answers with what `describe` says.
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
