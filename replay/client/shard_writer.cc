#include "replay/client/shard_writer.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/shard_address.h"
#include "replay/wire/wire.h"
#include "rpc/channel.h"
#include "rpc/protocol.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

constexpr char kInsertMethod[] = "/mallocmuzero.v1.Replay/Insert";

// The most requests without an answer: the shard stores one, receives one, and one is ready.
constexpr size_t kMaxRequests = 3;

// A shard that has kept items waiting for this time is slow. A commit to a disk takes less.
constexpr absl::Duration kSlow = absl::Seconds(1);

}  // namespace

// One Insert stream. The writer's mutex guards its public state.
class ShardWriter::Call final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, v1::InsertResponse> {
 public:
  Call(ShardWriter& writer, bool replacements) : writer_(writer) {
    PrepareCall(context, *writer.security_, absl::InfiniteDuration());
    if (replacements) context.AddMetadata(kReplacementsKey, "1");
    stub_.PrepareBidiStreamingCall(&context, kInsertMethod, {}, this);
    // The writer's thread starts writes outside of reactions, so gRPC must keep the call open. The
    // thread removes this hold before it waits for OnDone.
    AddHold();
    StartRead(&response_);
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) writer_.SetConnected();
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      const absl::Status settled = writer_.Settle(response_);
      response_.Clear();
      if (settled.ok()) return StartRead(&response_);
      context.TryCancel();
    }
    const absl::MutexLock lock(&writer_.mutex_);
    ended = true;
    writer_.changed_.SignalAll();
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&writer_.mutex_);
    writing = false;
    ended |= !ok;
    writer_.changed_.SignalAll();
  }

  void OnDone(const grpc::Status& end) override {
    const absl::MutexLock lock(&writer_.mutex_);
    status = end;
    done = true;
    writer_.changed_.SignalAll();
  }

  grpc::ClientContext context;
  grpc::ByteBuffer request;
  bool writing = false;
  bool ended = false;
  bool done = false;
  grpc::Status status;

 private:
  ShardWriter& writer_;
  grpc::TemplatedGenericStub<grpc::ByteBuffer, v1::InsertResponse> stub_{writer_.channel_};
  v1::InsertResponse response_;
};

ShardWriter::ShardWriter(ShardAddress shard, std::shared_ptr<const Security> security,
                         Events events)
    : shard_(std::move(shard)),
      security_(std::move(security)),
      events_(std::move(events)),
      channel_(MakeChannel(shard_.address, *security_)),
      backoff_(absl::HashOf(shard_.address, this)),
      thread_([this] { Run(); }) {}

ShardWriter::~ShardWriter() { Stop(); }

void ShardWriter::Add(SpooledItem item) {
  const absl::MutexLock lock(&mutex_);
  if (items_.empty()) moved_ = SteadyNow();
  items_.push_back(std::move(item));
  changed_.Signal();
}

std::deque<SpooledItem> ShardWriter::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  const absl::MutexLock lock(&mutex_);
  return std::exchange(items_, {});
}

size_t ShardWriter::held_back() const {
  const absl::MutexLock lock(&mutex_);
  return connected_ ? items_.size() : 0;
}

bool ShardWriter::connected() const {
  const absl::MutexLock lock(&mutex_);
  return connected_;
}

bool ShardWriter::is_slow() const {
  const absl::MutexLock lock(&mutex_);
  return connected_ && !items_.empty() && SteadyNow() - moved_ > kSlow;
}

std::string ShardWriter::trouble() const {
  const absl::MutexLock lock(&mutex_);
  if (trouble_.empty() || items_.empty()) return {};
  return absl::StrCat("shard ", shard_.name, ": ", trouble_, ", ", items_.size(),
                      " trajectories wait");
}

PeerState ShardWriter::peer() const {
  const absl::MutexLock lock(&mutex_);
  return {.name = PeerName(shard_), .trouble = trouble_};
}

void ShardWriter::Run() {
  while (true) {
    {
      const absl::MutexLock lock(&mutex_);
      while (items_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (stopping_) return;
      sent_ = 0;
      requests_.clear();
      answered_ = false;
    }
    const absl::Status status = RunStream();
    size_t resent = 0;
    bool was_connected = false;
    {
      const absl::MutexLock lock(&mutex_);
      was_connected = std::exchange(connected_, false);
      if (stopping_) return;
      resent = sent_;
      if (answered_) backoff_.Reset();
      trouble_ = status.ok() ? "the stream has ended" : Reason(status);
    }
    if (was_connected) events_.on_lost_stream(resent);
    const absl::Time until = absl::Now() + backoff_.Next();
    const absl::MutexLock lock(&mutex_);
    while (!stopping_ && !changed_.WaitWithDeadline(&mutex_, until)) {
    }
  }
}

bool ShardWriter::MaySend(const Call& call) const {
  return !call.writing && sent_ < items_.size() && requests_.size() < kMaxRequests;
}

absl::Status ShardWriter::RunStream() {
  bool replacements = false;
  {
    const absl::MutexLock lock(&mutex_);
    replacements = !items_.empty() && items_.front().replace;
  }
  Call call(*this, replacements);
  {
    const absl::MutexLock lock(&mutex_);
    while (!call.ended && !stopping_) {
      if (MaySend(call)) {
        Send(call);
      } else {
        changed_.Wait(&mutex_);
      }
    }
  }
  call.context.TryCancel();
  call.RemoveHold();
  const absl::MutexLock lock(&mutex_);
  while (!call.done) changed_.Wait(&mutex_);
  return FromGrpc(call.status);
}

void ShardWriter::Send(Call& call) {
  const bool replace = items_[sent_].replace;
  InsertRequestWriter request;
  size_t end = sent_;
  size_t bytes = 0;
  while (end < items_.size() && items_[end].replace == replace &&
         (end == sent_ || bytes + items_[end].wire.size() <= kMessageBytes)) {
    bytes += items_[end].wire.size();
    request.AddItem(items_[end++].wire);
  }
  call.request = request.Finish(replace);
  call.writing = true;
  requests_.push_back(end - sent_);
  sent_ = end;
  call.StartWrite(&call.request);
}

void ShardWriter::SetConnected() {
  {
    const absl::MutexLock lock(&mutex_);
    connected_ = true;
    moved_ = SteadyNow();
    trouble_.clear();
  }
  events_.on_connected();
}

absl::Status ShardWriter::Settle(const v1::InsertResponse& response) {
  std::vector<SpooledItem> settled;
  {
    const absl::MutexLock lock(&mutex_);
    const size_t refused = response.refusals_size();
    if (requests_.empty() || response.acknowledged() + refused != requests_.front()) {
      return absl::InternalError("an answer that fits no request");
    }
    const auto end = items_.begin() + requests_.front();
    settled.assign(std::make_move_iterator(items_.begin()), std::make_move_iterator(end));
    items_.erase(items_.begin(), end);
    sent_ -= settled.size();
    requests_.pop_front();
    moved_ = SteadyNow();
    answered_ = true;
    changed_.SignalAll();
  }
  std::vector<bool> is_refused(settled.size(), false);
  for (const v1::InsertResponse::Refusal& refusal : response.refusals()) {
    if (refusal.index() < is_refused.size()) is_refused[refusal.index()] = true;
  }
  for (size_t i = 0; i < settled.size(); ++i) events_.on_settled(settled[i], !is_refused[i]);
  return absl::OkStatus();
}

}  // namespace mallocmuzero
