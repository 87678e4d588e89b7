// The gRPC service Mapper.

#ifndef MALLOCMUZERO_SERVE_MAPPER_SERVICE_H_
#define MALLOCMUZERO_SERVE_MAPPER_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/security.h"
#include "serve/mapping_search.h"
#include "serve/metrics.h"
#include "serve/network_store.h"
#include "serve/work_queue.h"

namespace mallocmuzero {

struct MapperOptions {
  std::shared_ptr<const Security> security;
  SearchSettings settings;
  uint32_t searches = 1;  // at the same time
  uint32_t waiting = 0;   // requests that may wait

  // Not owned; must outlive the service. `networks` may be null: the solvers search alone.
  const NetworkStore* networks = nullptr;
  ServeMetrics* metrics = nullptr;
};

// Both calls get and send raw bytes, to check the caller and the size of a request before it
// becomes a message.
using MapperServiceBase = v1::Mapper::WithRawCallbackMethod_FindMapping<
    v1::Mapper::WithRawCallbackMethod_GetServerInfo<v1::Mapper::Service>>;

// A request runs on one of `searches` threads from its admission to its end. gRPC's threads only
// admit requests and send answers. At most `searches` + `waiting` + 64 calls are open; others get
// RESOURCE_EXHAUSTED. Thread-safe.
class MapperService final : public MapperServiceBase {
 public:
  explicit MapperService(const MapperOptions& options);

  // The server must have shut down before.
  ~MapperService() override;

  // Refuses new and waiting requests, ends the running searches, and blocks until each has handed
  // its best mapping to its call. The server may shut down then.
  void Stop();

  // OK while searches can evaluate the network. Otherwise the first failure of its device, such as
  // of a GPU, which does not pass: the process should then be restarted.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mutex_);

  uint32_t running() const { return queue_.running(); }
  uint32_t waiting() const { return queue_.waiting(); }

  // The calls of the service Mapper; see serve.proto.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FindMapping(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

 private:
  class Call;

  v1::ServerInfo Info() const;

  // Counts a call that the caller may make. ResourceExhausted if there are too many.
  absl::Status CountOpenCall();
  void NoteEnd(const absl::Status& search) ABSL_LOCKS_EXCLUDED(mutex_);

  const MapperOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint32_t> open_calls_ = 0;  // of callers with the token
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  WorkQueue queue_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_MAPPER_SERVICE_H_
