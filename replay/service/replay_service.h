// The gRPC service of a shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SERVICE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/service/insert_queue.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_block.h"
#include "replay/service/replay_table.h"
#include "replay/service/sample_stream.h"
#include "replay/service/stream.h"
#include "replay/service/worker_pool.h"
#include "rpc/security.h"

namespace mallocmuzero {

// All calls get and send raw bytes. Insert and Sample do not copy payloads into messages.
// UpdatePriorities refuses a request before many small updates become messages. The others check
// the caller and the size of a request before it becomes a message.
using ReplayServiceBase = v1::Replay::WithRawCallbackMethod_Insert<
    v1::Replay::WithRawCallbackMethod_Sample<v1::Replay::WithRawCallbackMethod_UpdatePriorities<
        v1::Replay::WithRawCallbackMethod_GetStats<v1::Replay::WithRawCallbackMethod_SetRateLimit<
            v1::Replay::WithRawCallbackMethod_Drain<v1::Replay::WithRawCallbackMethod_Checkpoint<
                v1::Replay::WithRawCallbackMethod_Retire<v1::Replay::WithRawCallbackMethod_Export<
                    v1::Replay::WithRawCallbackMethod_TakeOver<
                        v1::Replay::WithRawCallbackMethod_ListIds<v1::Replay::Service>>>>>>>>>>>;

// A stream that waits holds no thread. Thread-safe.
class ReplayService final : public ReplayServiceBase, private SampleHost {
 public:
  // `table` and `metrics` are not owned and must outlive the service. The file `retired_file`
  // exists if the shard was retired; empty: the shard does not remember this.
  ReplayService(ReplayTable& table, ReplayMetrics& metrics,
                std::shared_ptr<const Security> security, std::string retired_file = {});

  // Calls Stop. The server must have shut down before.
  ~ReplayService() override;

  // Waits for a group of inserts that is being stored, flushes the table, ends all streams and
  // refuses new ones.
  void Stop();

  // Whether the shard was taken out of the cluster.
  bool retired() const;

  // The table's statistics with the fields about streams.
  v1::ReplayStats Stats() const;

  // The reason why the streams wait now.
  ReplayBlock Blocked() const;

  // The calls of the service Replay; see replay.proto.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Insert(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Sample(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* UpdatePriorities(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SetRateLimit(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Checkpoint(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Retire(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Export(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* TakeOver(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ListIds(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request) override;

 private:
  using Streams = std::vector<std::weak_ptr<Stream>>;

  // A set, so that a stream that asks several times is in it once.
  using Waiting = std::set<std::weak_ptr<SampleStream>, std::owner_less<>>;

  ReplayTable& table() override { return table_; }
  ReplayMetrics& metrics() override { return metrics_; }
  void Run(std::function<void()> work) override;
  void Wait(const std::shared_ptr<SampleStream>& stream) override;
  void OnDrawn() override { inserts_.Wake(); }
  void OnUndelivered() override { OnInserted(); }
  void OnInserted();
  absl::Status BecomeRetired();

  // Ends all open streams with `why`, after the inserts that the queue has stored were answered.
  void EndStreams(const Streams& streams, const grpc::Status& why);

  // Whether the caller is an administrator and the request is a small one.
  grpc::Status CheckOrder(const grpc::CallbackServerContext& context,
                          const grpc::ByteBuffer& request) const;

  // Adds a stream to one of the two lists. UNAVAILABLE if the service is stopping.
  grpc::Status Register(Streams ReplayService::*streams, const std::shared_ptr<Stream>& stream);
  static size_t CountOpen(const Streams& streams);

  ReplayTable& table_;
  ReplayMetrics& metrics_;
  const std::shared_ptr<const Security> security_;
  std::atomic<bool> draining_ = false;

  const std::string retired_file_;

  mutable absl::Mutex mutex_;
  bool retired_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Streams insert_streams_ ABSL_GUARDED_BY(mutex_);
  Streams sample_streams_ ABSL_GUARDED_BY(mutex_);
  Waiting waiting_ ABSL_GUARDED_BY(mutex_);

  InsertQueue inserts_;
  std::optional<WorkerPool> workers_;  // if the table is on disk
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SERVICE_H_
