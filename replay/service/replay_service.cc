#include "replay/service/replay_service.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "base/exists.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/insert_stream.h"
#include "replay/service/replay_block.h"
#include "replay/service/replay_table.h"
#include "replay/service/sample_stream.h"
#include "replay/service/stream.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "rpc/answer.h"
#include "rpc/protocol.h"
#include "rpc/request_bytes.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// The number of threads that read items from the disk.
constexpr size_t kReaders = 4;

// The server's side of one ListIds call: sends the ids part by part. Deletes itself at the end.
class IdLister final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  IdLister(const ReplayTable& table, const grpc::Status& status) : table_(table) {
    if (status.ok()) {
      WriteNext();
    } else {
      Finish(status);
    }
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      WriteNext();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }

  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    v1::ListIdsResponse answer;
    while (part_ < IdSet::kParts && answer.stored_size() + answer.evicted_size() < kAtOnce) {
      std::vector<ItemId> stored;
      std::vector<ItemId> evicted;
      table_.ListIds(part_++, stored, evicted);
      for (const ItemId& id : stored) answer.add_stored(id.data(), id.size());
      for (const ItemId& id : evicted) answer.add_evicted(id.data(), id.size());
    }
    if (answer.stored_size() + answer.evicted_size() == 0) return Finish(grpc::Status::OK);
    bytes_ = ToByteBuffer(answer);
    StartWrite(&bytes_);
  }

  static constexpr int kAtOnce = 20000;

  const ReplayTable& table_;
  size_t part_ = 0;
  grpc::ByteBuffer bytes_;  // of the answer that is being sent
};

grpc::Status Retired() {
  return {grpc::StatusCode::UNAVAILABLE, "the shard was removed from the cluster"};
}

// The reason why streams of a shard without faults wait: the rate limiter or the first positions.
ReplayBlock FlowControl(const v1::ReplayStats& stats) {
  using On = ReplayBlock::On;
  if (stats.blocked_inserts() > 0) {
    return {.on = On::kRateLimiter,
            .why = absl::StrFormat("rate limiter: %d inserts wait, draws are %.0f behind",
                                   stats.blocked_inserts(), -stats.limiter_error())};
  }
  if (stats.blocked_samples() == 0) return {};
  if (stats.positions() == 0) return {.on = On::kMinSize, .why = "min size: no positions"};
  if (stats.inserted_positions() < stats.rate_limit().min_positions()) {
    return {.on = On::kMinSize,
            .why = absl::StrFormat("min size: %d of %d positions", stats.inserted_positions(),
                                   stats.rate_limit().min_positions())};
  }
  return {.on = On::kRateLimiter,
          .why = absl::StrFormat("rate limiter: %d sample streams wait, draws are %.0f ahead",
                                 stats.blocked_samples(), stats.limiter_error())};
}

}  // namespace

ReplayService::ReplayService(ReplayTable& table, ReplayMetrics& metrics,
                             std::shared_ptr<const Security> security, std::string retired_file)
    : table_(table),
      metrics_(metrics),
      security_(std::move(security)),
      retired_file_(std::move(retired_file)),
      inserts_(table, metrics, [this] { OnInserted(); }) {
  if (table.on_disk()) workers_.emplace(kReaders);
  if (retired_file_.empty() || !Exists(retired_file_)) return;
  inserts_.Stop();
  const absl::MutexLock lock(&mutex_);
  retired_ = true;
}

ReplayService::~ReplayService() { Stop(); }

void ReplayService::Stop() {
  Streams streams;
  {
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(stopping_, true)) return;
    streams = sample_streams_;
    streams.insert(streams.end(), insert_streams_.begin(), insert_streams_.end());
  }
  EndStreams(streams, {grpc::StatusCode::UNAVAILABLE, "the shard is stopping"});
}

void ReplayService::EndStreams(const Streams& streams, const grpc::Status& why) {
  // The queue stops first, so that inserts that it has stored are also acknowledged.
  inserts_.Stop();
  for (const std::weak_ptr<Stream>& weak : streams) {
    if (const std::shared_ptr<Stream> stream = weak.lock()) stream->Close(why);
  }
}

bool ReplayService::retired() const {
  const absl::MutexLock lock(&mutex_);
  return retired_;
}

grpc::Status ReplayService::Register(Streams ReplayService::*list,
                                     const std::shared_ptr<Stream>& stream) {
  const absl::MutexLock lock(&mutex_);
  Streams& streams = this->*list;
  if (stopping_) return {grpc::StatusCode::UNAVAILABLE, "the shard is stopping"};
  if (retired_) return Retired();
  // Before the list grows, streams that have ended are removed.
  if (streams.size() == streams.capacity()) {
    streams.erase(std::remove_if(streams.begin(), streams.end(),
                                 [](const auto& other) { return other.expired(); }),
                  streams.end());
  }
  streams.push_back(stream);
  return grpc::Status::OK;
}

size_t ReplayService::CountOpen(const Streams& streams) {
  return std::count_if(streams.begin(), streams.end(),
                       [](const auto& stream) { return !stream.expired(); });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Insert(
    grpc::CallbackServerContext* context) {
  grpc::Status status = security_->CheckCaller(*context);
  // At once: a client takes a shard that opens a stream for one that takes games.
  if (status.ok() && draining_) status = Drained();
  if (!status.ok()) return new RefusedStream(status);
  const auto stream = std::make_shared<InsertStream>(
      inserts_, [this] { return draining_.load(); },
      context->client_metadata().contains(kReplacementsKey));
  status = Register(&ReplayService::insert_streams_, stream);
  if (!status.ok()) return new RefusedStream(status);
  stream->Begin();
  return stream.get();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Sample(
    grpc::CallbackServerContext* context) {
  grpc::Status status = security_->CheckCaller(*context);
  if (!status.ok()) return new RefusedStream(status);
  const auto stream = std::make_shared<SampleStream>(static_cast<SampleHost&>(*this));
  status = Register(&ReplayService::sample_streams_, stream);
  if (!status.ok()) return new RefusedStream(status);
  context->AddInitialMetadata(kStreamOpenKey, "1");
  stream->Begin();
  return stream.get();
}

void ReplayService::Run(std::function<void()> work) {
  if (!workers_.has_value()) return work();
  workers_->Run(std::move(work));
}

void ReplayService::Wait(const std::shared_ptr<SampleStream>& stream) {
  const absl::MutexLock lock(&mutex_);
  // Removes streams that have ended, so that the set stays small while nothing is inserted.
  std::erase_if(waiting_, [](const auto& other) { return other.expired(); });
  waiting_.insert(stream);
}

void ReplayService::OnInserted() {
  Waiting streams;
  {
    const absl::MutexLock lock(&mutex_);
    streams = std::exchange(waiting_, {});
  }
  for (const std::weak_ptr<SampleStream>& weak : streams) {
    if (const std::shared_ptr<SampleStream> stream = weak.lock()) stream->Serve();
  }
}

v1::ReplayStats ReplayService::Stats() const {
  v1::ReplayStats stats = table_.Stats();
  stats.set_draining(draining_);
  if (!table_.MayInsert(0)) stats.set_blocked_inserts(inserts_.waiting());
  const absl::MutexLock lock(&mutex_);
  stats.set_retired(retired_);
  stats.set_insert_streams(CountOpen(insert_streams_));
  stats.set_sample_streams(CountOpen(sample_streams_));
  stats.set_blocked_samples(std::count_if(waiting_.begin(), waiting_.end(),
                                          [](const auto& stream) { return !stream.expired(); }));
  return stats;
}

ReplayBlock ReplayService::Blocked() const {
  if (const std::string trouble = table_.storage().trouble(); !trouble.empty()) {
    return {.on = ReplayBlock::On::kDisk, .why = absl::StrCat("disk: ", trouble)};
  }
  const v1::ReplayStats stats = Stats();
  if (stats.retired()) {
    return {.on = ReplayBlock::On::kDraining, .why = "removed from the cluster"};
  }
  if (stats.draining()) {
    return {.on = ReplayBlock::On::kDraining, .why = "draining: inserts are refused"};
  }
  return FlowControl(stats);
}

grpc::ServerUnaryReactor* ReplayService::UpdatePriorities(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  const grpc::Status status = security_->CheckCaller(*context);
  if (!status.ok()) return Answer(context, status);
  const absl::StatusOr<v1::UpdatePrioritiesRequest> updates = ReadUpdatePrioritiesRequest(*request);
  if (!updates.ok()) return Answer(context, ToGrpc(updates.status()));
  const absl::StatusOr<uint32_t> updated = table_.UpdatePriorities(*updates);
  if (!updated.ok()) return Answer(context, ToGrpc(updated.status()));
  metrics_.updated_priorities().Increment(*updated);
  v1::UpdatePrioritiesResponse answer;
  answer.set_updated(*updated);
  *response = ToByteBuffer(answer);
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* ReplayService::GetStats(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  grpc::Status status = security_->CheckCaller(*context);
  if (status.ok()) status = CheckSmall(*request);
  if (status.ok()) *response = ToByteBuffer(Stats());
  return Answer(context, status);
}

grpc::Status ReplayService::CheckOrder(const grpc::CallbackServerContext& context,
                                       const grpc::ByteBuffer& request) const {
  const grpc::Status status = security_->CheckAdministrator(context);
  return status.ok() ? CheckSmall(request) : status;
}

grpc::ServerUnaryReactor* ReplayService::SetRateLimit(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  v1::RateLimit limit;
  grpc::Status status = CheckOrder(*context, *request);
  if (status.ok()) status = ParseRequest(*request, limit);
  if (status.ok()) status = ToGrpc(table_.SetRateLimit(limit));
  if (status.ok()) {
    *response = ToByteBuffer(v1::SetRateLimitResponse());
    inserts_.Wake();
    OnInserted();
  }
  return Answer(context, status);
}

grpc::ServerUnaryReactor* ReplayService::Drain(grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  v1::DrainRequest order;
  grpc::Status status = CheckOrder(*context, *request);
  if (status.ok()) status = ParseRequest(*request, order);
  if (status.ok()) {
    draining_ = order.draining();
    *response = ToByteBuffer(v1::DrainResponse());
  }
  return Answer(context, status);
}

grpc::ServerUnaryReactor* ReplayService::Checkpoint(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request,
                                                    grpc::ByteBuffer* response) {
  const grpc::Status status = CheckOrder(*context, *request);
  if (!status.ok()) return Answer(context, status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Run([this, reactor, response] {
    const absl::StatusOr<ShardCopy> copy = table_.Checkpoint();
    if (copy.ok()) {
      v1::CheckpointResponse answer;
      answer.set_path(copy->path);
      answer.mutable_removed()->Assign(copy->removed.begin(), copy->removed.end());
      *response = ToByteBuffer(answer);
    }
    reactor->Finish(ToGrpc(copy.status()));
  });
  return reactor;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ReplayService::ListIds(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return new IdLister(table_, CheckOrder(*context, *request));
}

}  // namespace mallocmuzero
