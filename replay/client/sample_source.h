// Fetches draws of one selection from one shard ahead of need.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SAMPLE_SOURCE_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SAMPLE_SOURCE_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/metrics.h"
#include "rpc/backoff.h"
#include "rpc/security.h"

namespace mallocmuzero {

// A draw from one shard.
struct DrawnItem {
  // One of the two is set, as SampleSourceOptions::decode says.
  std::shared_ptr<const v1::ReplayItem> item;
  std::shared_ptr<const v1::Trajectory> trajectory;

  uint32_t position = 0;
  double probability = 0;  // of this position, within the shard
};

struct SampleSourceOptions {
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<const Security> security;
  SamplerMetrics::OfShard metrics;  // of the shard
  v1::Selection selection = v1::PRIORITIZED;
  uint32_t prefetch = 0;
  bool unlimited = false;
  bool decode = true;
  uint64_t seed = 0;  // for the backoff and the order of draws
};

// The state that all sources of a sampler share. The mutex guards their draws.
struct SampleBoard {
  absl::Mutex mutex;
  absl::CondVar changed;  // signalled when draws arrive, room appears, or a stream ends
};

// Owns the thread that reads the shard's stream. Every function but the constructor, the destructor
// and Join must be called with the board's mutex held.
class SampleSource {
 public:
  // Starts the thread. `board` and `metrics` are not owned and must outlive the source.
  SampleSource(SampleSourceOptions options, SampleBoard& board, SamplerMetrics& metrics);

  // Stop and Join must have been called.
  ~SampleSource() = default;

  // Stop ends the stream without blocking; Join waits for the thread.
  void Stop();
  void Join();

  // Draws that have arrived and were not taken.
  const std::deque<DrawnItem>& ready() const {
    board_.mutex.AssertHeld();
    return ready_;
  }

  // Takes the first of ready(), which must not be empty.
  DrawnItem Pop();

  // Undoes Pop. To undo several, call it for the latest first.
  void PutBack(DrawnItem drawn) {
    board_.mutex.AssertHeld();
    ready_.push_front(std::move(drawn));
  }

  // Whether draws have arrived or may be expected soon.
  bool available() const {
    board_.mutex.AssertHeld();
    return !ready_.empty() || (connected_ && !stalled_);
  }

  // Returns since when the source has kept draws waiting without delivering, over all calls of
  // Draw. The first call after a delivery returns `now`.
  absl::Time HasBeenWaitedForSince(absl::Time now) {
    board_.mutex.AssertHeld();
    waited_for_since_ = std::min(waited_for_since_, now);
    return waited_for_since_;
  }

  // Marks the source as not available until draws arrive again. Called when it has kept a draw
  // waiting for too long.
  void Stall() {
    board_.mutex.AssertHeld();
    stalled_ = true;
  }

  // From the shard's latest answer: the weight in proportion to which the shard is chosen, and its
  // number of positions.
  double weight() const {
    board_.mutex.AssertHeld();
    return weight_;
  }
  uint64_t positions() const {
    board_.mutex.AssertHeld();
    return positions_;
  }

  // Why no draw has arrived, in a few words.
  std::string trouble() const;

  // Why the shard's last stream ended. Empty if another one is open, or if no stream has ended.
  const std::string& lost_by() const {
    board_.mutex.AssertHeld();
    return trouble_;
  }

 private:
  using Stream = grpc::ClientReaderWriter<v1::SampleRequest, v1::SampleResponse>;

  void Run();
  absl::Status RunStream();
  bool Ask(Stream& stream);
  void NoteOpen(Stream& stream, const grpc::ClientContext& context);

  // The least number of draws that is worth a request.
  uint64_t refill() const { return std::max<uint64_t>(1, options_.prefetch / 4); }

  bool Take(v1::SampleResponse& response);
  DrawnItem Decode(v1::ReplayItem& item) const;

  const SampleSourceOptions options_;
  SampleBoard& board_;
  SamplerMetrics& metrics_;
  const std::unique_ptr<v1::Replay::Stub> stub_;
  Backoff backoff_;         // used by the thread only
  std::mt19937_64 random_;  // used by the thread only
  uint64_t asked_ = 0;      // draws asked for and not received on this stream; thread only
  std::deque<DrawnItem> ready_ ABSL_GUARDED_BY(board_.mutex);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(board_.mutex) = nullptr;  // of the current stream
  bool connected_ ABSL_GUARDED_BY(board_.mutex) = false;                  // it has delivered draws
  bool stalled_ ABSL_GUARDED_BY(board_.mutex) = false;
  absl::Time waited_for_since_ ABSL_GUARDED_BY(board_.mutex) = absl::InfiniteFuture();
  bool stopping_ ABSL_GUARDED_BY(board_.mutex) = false;
  double weight_ ABSL_GUARDED_BY(board_.mutex) = 0;
  uint64_t positions_ ABSL_GUARDED_BY(board_.mutex) = 0;
  std::string trouble_ ABSL_GUARDED_BY(board_.mutex);  // see lost_by()
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SAMPLE_SOURCE_H_
