// The server's side of one Insert call.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_INSERT_STREAM_H_
#define MALLOCMUZERO_REPLAY_SERVICE_INSERT_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/insert_queue.h"
#include "replay/service/stream.h"

namespace mallocmuzero {

// The end of a stream of a shard that is drained.
inline grpc::Status Drained() {
  return {grpc::StatusCode::UNAVAILABLE, "the shard is being drained"};
}

// Reads requests, passes them to the queue, and answers each in order.
class InsertStream final : public Stream {
 public:
  // `queue` must outlive the stream. `draining` returns whether inserts are to be refused; it is
  // called from any thread. `replacements` is whether the client has said that its first item
  // replaces a stored one.
  InsertStream(InsertQueue& queue, std::function<bool()> draining, bool replacements);

  // Starts the stream. Call once, after the constructor.
  void Begin();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 private:
  std::shared_ptr<InsertStream> Self() {
    return std::static_pointer_cast<InsertStream>(shared_from_this());
  }
  void Read();
  void Take();
  void Answer(const absl::Status& status, const v1::InsertResponse& response);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  InsertQueue& queue_;
  const std::function<bool()> draining_;
  const bool replacements_;
  grpc::ByteBuffer request_;                                      // used by the read under way
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);  // the first is being written
  int in_queue_ ABSL_GUARDED_BY(mutex_) = 0;                      // requests without an answer yet
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_all_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_INSERT_STREAM_H_
