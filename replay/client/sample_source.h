// Draws of one kind from one shard, ahead of need.

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

struct DrawnItem {
  // One of the two, as SampleSourceOptions::decode says.
  std::shared_ptr<const v1::ReplayItem> item;
  std::shared_ptr<const v1::Trajectory> trajectory;

  uint32_t position = 0;
  double probability = 0;  // within the shard
};

struct SampleSourceOptions {
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<const Security> security;
  size_t shard = 0;  // index in `metrics`
  v1::Selection selection = v1::PRIORITIZED;
  uint32_t prefetch = 0;
  bool unlimited = false;
  bool decode = true;
  uint64_t seed = 0;  // of the backoff and of the order of draws
};

// What all sources of a sampler share. Its mutex guards their draws.
struct SampleBoard {
  absl::Mutex mutex;
  absl::CondVar changed;  // signalled with every draw that comes or goes
};

// Its thread lives as long as it. All but Join is called with the board's mutex held.
class SampleSource {
 public:
  // Neither `board` nor `metrics` is owned.
  SampleSource(SampleSourceOptions options, SampleBoard& board, SamplerMetrics& metrics);

  // Stop and Join have been called.
  ~SampleSource() = default;

  // Ends the stream; Join waits for the thread.
  void Stop();
  void Join();

  // Draws that are here.
  const std::deque<DrawnItem>& ready() const {
    board_.mutex.AssertHeld();
    return ready_;
  }

  // The first of them, which there is, leaves.
  DrawnItem Pop();

  // What Pop gave comes back, the last one first.
  void PutBack(DrawnItem drawn) {
    board_.mutex.AssertHeld();
    ready_.push_front(std::move(drawn));
  }

  // Whether draws are here or may be expected soon.
  bool available() const {
    board_.mutex.AssertHeld();
    return !ready_.empty() || (connected_ && !stalled_);
  }

  // Since when it has kept draws waiting, in however many calls; `now` if it has not until now.
  absl::Time HasBeenWaitedForSince(absl::Time now) {
    board_.mutex.AssertHeld();
    waited_for_since_ = std::min(waited_for_since_, now);
    return waited_for_since_;
  }

  // It kept a draw waiting for too long; until draws come again it is not available.
  void Stall() {
    board_.mutex.AssertHeld();
    stalled_ = true;
  }

  // Of the shard's latest answer: what the choice of a shard is in proportion to, and positions.
  double weight() const {
    board_.mutex.AssertHeld();
    return weight_;
  }
  uint64_t positions() const {
    board_.mutex.AssertHeld();
    return positions_;
  }

  // Why there is no draw, in a few words.
  std::string trouble() const;

  // Why the shard's last stream ended; empty: draws have come since, or there was none.
  const std::string& lost_by() const {
    board_.mutex.AssertHeld();
    return trouble_;
  }

 private:
  using Stream = grpc::ClientReaderWriter<v1::SampleRequest, v1::SampleResponse>;

  void Run();
  absl::Status RunStream();
  bool Ask(Stream& stream);

  // Room for so many draws is worth a request.
  uint64_t refill() const { return std::max<uint64_t>(1, options_.prefetch / 4); }

  bool Take(v1::SampleResponse& response);
  DrawnItem Decode(v1::ReplayItem& item) const;

  const SampleSourceOptions options_;
  SampleBoard& board_;
  SamplerMetrics& metrics_;
  const std::unique_ptr<v1::Replay::Stub> stub_;
  Backoff backoff_;         // of the thread
  std::mt19937_64 random_;  // of the thread
  uint64_t asked_ = 0;      // of the thread: draws asked for and not got from the stream in use
  std::deque<DrawnItem> ready_ ABSL_GUARDED_BY(board_.mutex);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(board_.mutex) = nullptr;  // of the stream in use
  bool connected_ ABSL_GUARDED_BY(board_.mutex) = false;                  // draws have come over it
  bool stalled_ ABSL_GUARDED_BY(board_.mutex) = false;
  absl::Time waited_for_since_ ABSL_GUARDED_BY(board_.mutex) = absl::InfiniteFuture();
  bool stopping_ ABSL_GUARDED_BY(board_.mutex) = false;
  double weight_ ABSL_GUARDED_BY(board_.mutex) = 0;
  uint64_t positions_ ABSL_GUARDED_BY(board_.mutex) = 0;
  std::string trouble_ ABSL_GUARDED_BY(board_.mutex);  // of the last stream
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SAMPLE_SOURCE_H_
