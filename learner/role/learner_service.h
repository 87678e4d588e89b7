// The services Learner and Status of a learner.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_SERVICE_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_SERVICE_H_

#include <cstdint>
#include <functional>
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

// Serves the assignment and the weights that were published last. It has no threads of its own, so
// that a thousand watchers only take memory. Thread-safe.
class LearnerService final : public v1::Learner::CallbackService {
 public:
  // Takes a report and returns orders. The service fills in the step and the assignment's version.
  using Reported = std::function<absl::StatusOr<v1::ActorOrders>(const v1::ActorReport&)>;

  LearnerService(std::shared_ptr<const Security> security, Reported reported);
  ~LearnerService() override;

  // Sets the answer of GetAssignment, whose version is filled in, and the program files that it
  // names, by their SHA-256.
  using Files = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;
  void SetAssignment(v1::Assignment assignment, Files programs);

  // Publishes newer weights, a checkpoint file. All watchers get a notice.
  void Publish(uint64_t step, std::string bytes);

  // Ends all streams with UNAVAILABLE, and later ones as soon as they begin. Call it before the
  // server shuts down.
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

  // The bytes that a Fetch sends, and their version of the weights; 0 for a program.
  struct Fetched {
    std::shared_ptr<const std::string> bytes;
    uint64_t version = 0;
  };
  absl::StatusOr<Fetched> Find(const v1::FetchRequest& request) const;

  // OK if a transfer of that version may go on; counts its next bytes.
  grpc::Status MaySend(uint64_t version, size_t bytes);

  const std::shared_ptr<const Security> security_;
  const Reported reported_;

  mutable absl::Mutex mutex_;
  v1::Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  Files programs_ ABSL_GUARDED_BY(mutex_);
  v1::CheckpointNotice newest_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> weights_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // number of published weights
  absl::flat_hash_set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  uint64_t fetched_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Answers with the result of `describe`.
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
