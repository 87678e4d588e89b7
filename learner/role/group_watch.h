// Finds out which process of a learner is lost.

#ifndef MALLOCMUZERO_LEARNER_ROLE_GROUP_WATCH_H_
#define MALLOCMUZERO_LEARNER_ROLE_GROUP_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner_group.grpc.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct GroupWatchOptions {
  uint32_t rank = 0;
  uint32_t processes = 1;
  std::string address;  // of process 0: host:port of the service LearnerGroup
  std::shared_ptr<const Security> security;

  absl::Duration interval = absl::Milliseconds(500);  // between two heartbeats

  // A process without a heartbeat for this time is lost.
  absl::Duration silence = absl::Seconds(3);
};

// Process 0 gets the heartbeats of the others and serves what it knows. The others send heartbeats
// from a thread of their own. Thread-safe.
class GroupWatch final : public v1::LearnerGroup::CallbackService {
 public:
  explicit GroupWatch(GroupWatchOptions options);
  ~GroupWatch() override;
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  // All processes have met: earlier losses no longer count.
  void Meet();

  // This process begins a joint call, which waits for the others.
  void BeginCall();

  // After a joint call has failed: says which process is lost and why, such as "process 2 of the
  // learner is lost: no heartbeat for 3 s". Blocks until this is known, about as long as `silence`,
  // or until `stop`.
  std::string WhoIsLost(const absl::Notification& stop);

  // The call of the service, which process 0 serves.
  grpc::ServerUnaryReactor* Beat(grpc::CallbackServerContext* context, const v1::Heartbeat* request,
                                 v1::GroupHealth* response) override;

 private:
  struct Member {
    uint64_t met_process = 0;  // of the first heartbeat since the meeting; 0: none yet
    uint64_t calls = 0;
    absl::Time seen = absl::InfiniteFuture();
    bool lost = false;  // since the meeting
  };

  v1::GroupHealth Accept(const v1::Heartbeat& beat);
  void SendBeats();
  void TakeAnswer(const v1::GroupHealth& health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteLoss(uint32_t rank, const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSilent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteLaggard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GroupWatchOptions options_;
  const uint64_t process_;  // random
  absl::Notification stop_;

  absl::Mutex mutex_;
  // By rank. Process 0 has all others; the others have process 0 only.
  std::vector<Member> members_ ABSL_GUARDED_BY(mutex_);
  uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time met_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::string lost_ ABSL_GUARDED_BY(mutex_);  // the first loss since the meeting
  std::thread thread_;                        // of the other processes
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_GROUP_WATCH_H_
