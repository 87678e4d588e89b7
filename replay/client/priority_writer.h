// Sends the priorities of drawn positions back to their shard.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_PRIORITY_WRITER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_PRIORITY_WRITER_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/metrics.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Sends updates to one shard from a thread of its own, each at most once: an update that does not
// arrive is dropped. Thread-safe.
class PriorityWriter {
 public:
  // `metrics` is not owned and must outlive the writer. A call that takes longer than `timeout` is
  // given up with its updates.
  PriorityWriter(const std::shared_ptr<grpc::Channel>& channel,
                 std::shared_ptr<const Security> security, SamplerMetrics& metrics,
                 absl::Duration timeout = absl::Seconds(5));

  // Stops at once; waiting updates are dropped.
  ~PriorityWriter();

  // Queues updates without blocking. If more than 65,536 wait, the oldest are dropped.
  void Add(std::vector<v1::UpdatePrioritiesRequest::Update> updates);

 private:
  void Run();

  const std::unique_ptr<v1::Replay::Stub> stub_;
  const std::shared_ptr<const Security> security_;
  SamplerMetrics& metrics_;
  const absl::Duration timeout_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<v1::UpdatePrioritiesRequest::Update> updates_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the call under way
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_PRIORITY_WRITER_H_
