// The call Sample.

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

// What sample streams need of the service. Thread-safe.
class SampleHost {
 public:
  virtual ~SampleHost() = default;

  virtual ReplayTable& table() = 0;
  virtual ReplayMetrics& metrics() = 0;

  // Runs `work` here, or, if it may wait for the disk, on another thread.
  virtual void Run(std::function<void()> work) = 0;

  // Calls stream.Serve once something may be drawn that could not be drawn before.
  virtual void Wait(const std::shared_ptr<SampleStream>& stream) = 0;

  // Draws were made, so inserts may go on.
  virtual void OnDrawn() = 0;
};

class SampleStream final : public Stream {
 public:
  // `host` outlives the stream.
  explicit SampleStream(SampleHost& host) : host_(host) {}

  // Once, after the constructor.
  void Begin();

  // Sends what is asked for and may be drawn.
  void Serve();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 private:
  std::shared_ptr<SampleStream> Self() {
    return std::static_pointer_cast<SampleStream>(shared_from_this());
  }
  absl::Status Take();
  void Produce(const v1::SampleRequest& asked);
  void Send(const ReplayTable::Draws& draws);
  void CloseIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SampleHost& host_;
  grpc::ByteBuffer request_;  // belongs to the read that is under way
  grpc::ByteBuffer answer_;   // belongs to whoever has set serving_
  std::deque<v1::SampleRequest> asked_ ABSL_GUARDED_BY(mutex_);  // what is still to be sent
  uint64_t asked_draws_ ABSL_GUARDED_BY(mutex_) = 0;             // in all of them
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;                 // until what was drawn is written
  bool read_all_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SAMPLE_STREAM_H_
