#include "replay/client/sample_source.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/item_codec.h"
#include "rpc/channel.h"
#include "rpc/protocol.h"
#include "rpc/status.h"

namespace mallocmuzero {

SampleSource::SampleSource(SampleSourceOptions options, SampleBoard& board, SamplerMetrics& metrics)
    : options_(std::move(options)),
      board_(board),
      metrics_(metrics),
      stub_(v1::Replay::NewStub(options_.channel)),
      backoff_(options_.seed),
      random_(options_.seed),
      thread_([this] { Run(); }) {}

void SampleSource::Stop() {
  board_.mutex.AssertHeld();
  stopping_ = true;
  if (context_ != nullptr) context_->TryCancel();
  board_.changed.SignalAll();
}

void SampleSource::Join() { thread_.join(); }

std::string SampleSource::trouble() const {
  board_.mutex.AssertHeld();
  if (!trouble_.empty()) return trouble_;
  return "no draws: too few positions, or its rate limiter";
}

void SampleSource::Run() {
  while (true) {
    const absl::Status status = RunStream();
    options_.metrics.connected->Set(0);
    const absl::MutexLock lock(&board_.mutex);
    context_ = nullptr;
    const bool was_connected = std::exchange(connected_, false);
    if (was_connected) backoff_.Reset();
    if (stopping_) return;
    if (was_connected) options_.metrics.lost_streams->Increment();
    trouble_ = status.ok() ? "the stream has ended" : Reason(status);
    board_.changed.SignalAll();
    const absl::Time until = absl::Now() + backoff_.Next();
    while (!stopping_ && !board_.changed.WaitWithDeadline(&board_.mutex, until)) {
    }
    if (stopping_) return;
  }
}

absl::Status SampleSource::RunStream() {
  grpc::ClientContext context;
  PrepareCall(context, *options_.security, absl::InfiniteDuration());
  {
    const absl::MutexLock lock(&board_.mutex);
    if (stopping_) return absl::CancelledError();
    context_ = &context;
  }
  const std::unique_ptr<Stream> stream = stub_->Sample(&context);
  asked_ = 0;
  v1::SampleResponse response;
  bool is_valid = true;
  bool goes_on = Ask(*stream);
  if (goes_on) NoteOpen(*stream, context);
  while (goes_on && stream->Read(&response)) {
    is_valid = Take(response);
    goes_on = is_valid && Ask(*stream);
  }
  // A stream that the shard has ended keeps the shard's own status.
  if (!is_valid) context.TryCancel();
  const grpc::Status status = stream->Finish();
  // `context` is destroyed on return, so Stop must not find it any more.
  const absl::MutexLock lock(&board_.mutex);
  context_ = nullptr;
  if (!is_valid) return absl::InternalError("an answer of the shard breaks the protocol");
  return FromGrpc(status);
}

// Waits until the shard has accepted the stream, or has answered, and notes that it is reached.
void SampleSource::NoteOpen(Stream& stream, const grpc::ClientContext& context) {
  stream.WaitForInitialMetadata();
  if (context.GetServerInitialMetadata().count(kStreamOpenKey) == 0) return;
  const absl::MutexLock lock(&board_.mutex);
  trouble_.clear();
  board_.changed.SignalAll();
}

DrawnItem SampleSource::Pop() {
  board_.mutex.AssertHeld();
  DrawnItem drawn = std::move(ready_.front());
  ready_.pop_front();
  // Signals once, when the room that Ask waits for has appeared.
  if (ready_.size() + refill() == options_.prefetch) board_.changed.SignalAll();
  return drawn;
}

// Asks for as many draws as there is room for. Blocks until there is room if no draws are on their
// way. Returns false if the source stops or the stream has ended.
bool SampleSource::Ask(Stream& stream) {
  uint64_t room = 0;
  {
    const absl::MutexLock lock(&board_.mutex);
    while (!stopping_) {
      const uint64_t here = ready_.size() + asked_;
      room = here < options_.prefetch ? options_.prefetch - here : 0;
      if (asked_ > 0 || room >= refill()) break;
      board_.changed.Wait(&board_.mutex);
    }
    if (stopping_) return false;
  }
  if (room < refill()) return true;
  v1::SampleRequest request;
  request.set_draws(room);
  request.set_selection(options_.selection);
  request.set_unlimited(options_.unlimited);
  asked_ += room;
  return stream.Write(request);
}

DrawnItem SampleSource::Decode(v1::ReplayItem& item) const {
  if (!options_.decode) {
    auto taken = std::make_shared<v1::ReplayItem>();
    taken->Swap(&item);
    return {.item = std::move(taken)};
  }
  absl::StatusOr<v1::Trajectory> trajectory = DecodeTrajectory(item);
  if (!trajectory.ok()) return {};
  return {.trajectory = std::make_shared<const v1::Trajectory>(*std::move(trajectory))};
}

// Takes the draws of an answer. Returns false if the answer breaks the protocol.
bool SampleSource::Take(v1::SampleResponse& response) {
  std::vector<DrawnItem> drawn;
  uint64_t count = 0;
  for (v1::SampleResponse::Drawn& one : *response.mutable_drawn()) {
    count += one.draws_size();
    const uint32_t positions = one.item().positions();
    DrawnItem item = Decode(*one.mutable_item());
    if (item.item == nullptr && item.trajectory == nullptr) {
      metrics_.invalid_items->Increment();
      continue;
    }
    for (const v1::SampleResponse::Draw& draw : one.draws()) {
      if (draw.position() >= positions || !(draw.probability() > 0 && draw.probability() <= 1)) {
        return false;
      }
      item.position = draw.position();
      item.probability = draw.probability();
      drawn.push_back(item);
    }
  }
  const bool is_weight = std::isfinite(response.total_weight()) && response.total_weight() >= 0;
  if (count == 0 || count > asked_ || !is_weight) return false;
  // An answer lists all draws of an item together. Shuffling keeps a batch that takes only a part
  // of the answer from consisting of a few items.
  std::shuffle(drawn.begin(), drawn.end(), random_);
  asked_ -= count;
  options_.metrics.draws->Increment(static_cast<double>(count));
  const absl::MutexLock lock(&board_.mutex);
  if (!std::exchange(connected_, true)) options_.metrics.connected->Set(1);
  stalled_ = false;
  waited_for_since_ = absl::InfiniteFuture();
  trouble_.clear();
  weight_ = options_.selection == v1::PRIORITIZED ? response.total_weight()
                                                  : static_cast<double>(response.positions());
  positions_ = response.positions();
  for (DrawnItem& item : drawn) ready_.push_back(std::move(item));
  board_.changed.SignalAll();
  return true;
}

}  // namespace mallocmuzero
