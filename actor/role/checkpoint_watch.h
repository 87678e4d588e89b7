// Keeps the newest of the notices of newer weights that a stream delivers.

#ifndef MALLOCMUZERO_ACTOR_ROLE_CHECKPOINT_WATCH_H_
#define MALLOCMUZERO_ACTOR_ROLE_CHECKPOINT_WATCH_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"

namespace mallocmuzero {

// gRPC calls its methods on gRPC's own threads.
class CheckpointWatch final : public grpc::ClientReadReactor<v1::CheckpointNotice> {
 public:
  CheckpointWatch(v1::Learner::Stub& stub, const Security& security,
                  const std::string& have_sha256) {
    request_.set_have_sha256(have_sha256);
    PrepareCall(context_, security, absl::InfiniteDuration());
    stub.async()->WatchCheckpoint(&context_, &request_, this);
    StartRead(&reading_);
    StartCall();
  }

  // Waits for a notice or the end of the stream. True if there is a notice that was not taken yet.
  bool Await(absl::Duration timeout) {
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return fresh_ || done_; };
    const absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
    return fresh_;
  }

  v1::CheckpointNotice Take() {
    const absl::MutexLock lock(&mutex_);
    fresh_ = false;
    return newest_;
  }

  uint64_t notices() const {
    const absl::MutexLock lock(&mutex_);
    return notices_;
  }

  bool done() const {
    const absl::MutexLock lock(&mutex_);
    return done_;
  }

  void Cancel() { context_.TryCancel(); }

  // Call it before the destructor.
  void CancelAndWait() {
    Cancel();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const absl::MutexLock lock(&mutex_);
      newest_ = reading_;
      fresh_ = true;
      ++notices_;
    }
    StartRead(&reading_);
  }

  void OnDone(const grpc::Status& /*status*/) override {
    const absl::MutexLock lock(&mutex_);
    done_ = true;
  }

 private:
  grpc::ClientContext context_;
  v1::WatchCheckpointRequest request_;
  v1::CheckpointNotice reading_;
  mutable absl::Mutex mutex_;
  v1::CheckpointNotice newest_ ABSL_GUARDED_BY(mutex_);
  uint64_t notices_ ABSL_GUARDED_BY(mutex_) = 0;
  bool fresh_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_CHECKPOINT_WATCH_H_
