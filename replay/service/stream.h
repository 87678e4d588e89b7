// The base of the shard's bidirectional streams.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_STREAM_H_
#define MALLOCMUZERO_REPLAY_SERVICE_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// Any thread may serve a stream. It lives as long as gRPC or such a thread holds a reference. It
// ends once, and never while a write is under way. Derived classes must hold mutex_ and check
// closing_ when they start a read or a write.
class Stream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
               public std::enable_shared_from_this<Stream> {
 public:
  // Ends the stream with this status as soon as no write is under way. Does not block. Only the
  // first call has an effect. Thread-safe.
  void Close(const grpc::Status& status) {
    const std::shared_ptr<Stream> keep = shared_from_this();
    const absl::MutexLock lock(&mutex_);
    CloseLocked(status);
  }

  // Whether the stream is closing, so that nothing more is written to it.
  bool closing() const {
    const absl::MutexLock lock(&mutex_);
    return closing_;
  }

  void OnCancel() override { Close(grpc::Status::CANCELLED); }
  void OnDone() final { self_.reset(); }

 protected:
  // Keeps the stream alive for gRPC until OnDone. Call when the stream starts.
  void Hold() { self_ = shared_from_this(); }

  void CloseLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closing_) return;
    closing_ = true;
    status_ = status;
    if (!writing_) Finish(status_);
  }

  // Starts a write. `message` must stay unchanged until OnWriteDone.
  void Write(const grpc::ByteBuffer* message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    StartWrite(message);
  }

  // Must be called first in OnWriteDone. Returns false if the stream is ending.
  bool EndWrite(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = false;
    if (closing_) {
      Finish(status_);
    } else if (!ok) {
      CloseLocked(grpc::Status::CANCELLED);
    }
    return !closing_;
  }

  mutable absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;

 private:
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Stream> self_;
};

// Answers a call with an error status. Deletes itself when the call is done.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_STREAM_H_
