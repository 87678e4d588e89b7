// The server's side of one Sample call.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SAMPLE_STREAM_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SAMPLE_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"
#include "replay/service/stream.h"

namespace mallocmuzero {

class SampleStream;

// The functions of the service that sample streams use. Thread-safe.
class SampleHost {
 public:
  virtual ~SampleHost() = default;

  virtual ReplayTable& table() = 0;
  virtual ReplayMetrics& metrics() = 0;

  // Runs `work` on this thread or, if it may wait for the disk, on another one.
  virtual void Run(std::function<void()> work) = 0;

  // Calls stream.Serve, once, after the next insert or change of the rate limit.
  virtual void Wait(const std::shared_ptr<SampleStream>& stream) = 0;

  // Called after draws that count for the rate limiter, so that waiting inserts are tried again.
  virtual void OnDrawn() = 0;

  // Called after draws were taken off the rate limiter's count, so that waiting streams are served.
  virtual void OnUndelivered() = 0;
};

// Reads requests for draws and answers them as the table admits draws.
class SampleStream final : public Stream {
 public:
  // `host` must outlive the stream.
  explicit SampleStream(SampleHost& host) : host_(host) {}

  // Starts the stream. Call once, after the constructor.
  void Begin();

  // Draws and sends as much as was asked for and may be drawn. Does nothing while an answer is
  // being made or written. Called from any thread.
  void Serve();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 private:
  std::shared_ptr<SampleStream> Self() {
    return std::static_pointer_cast<SampleStream>(shared_from_this());
  }
  absl::Status Take();
  void Produce(const v1::SampleRequest& asked);
  uint32_t Send(const ReplayTable::Draws& draws, bool unlimited);

  // Takes draws that the client does not get off the rate limiter's count.
  void GiveBack(uint32_t draws);
  void CloseIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SampleHost& host_;
  grpc::ByteBuffer request_;  // used by the read under way
  grpc::ByteBuffer answer_;   // used only by the thread that has set serving_, and by its write
  std::deque<v1::SampleRequest> asked_ ABSL_GUARDED_BY(mutex_);  // draws still to be sent
  uint64_t asked_draws_ ABSL_GUARDED_BY(mutex_) = 0;             // their sum
  uint32_t counted_draws_ ABSL_GUARDED_BY(mutex_) = 0;           // of answer_, by the rate limiter
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;                 // an answer is made or written
  bool read_all_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SAMPLE_STREAM_H_
