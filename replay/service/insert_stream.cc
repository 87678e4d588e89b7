#include "replay/service/insert_stream.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/insert_queue.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "rpc/request_bytes.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// The most requests of one stream that are read before the first of them is answered. More than
// one, so that the next request arrives while a group is written to the disk.
constexpr int kMaxInQueue = 3;

std::unique_ptr<InsertJob> MakeJob(InsertMessage message) {
  auto job = std::make_unique<InsertJob>();
  job->bytes = message.bytes;
  job->insert.replace = message.replace;
  const size_t count = message.items.size() + message.refusals.size();
  auto refusal = message.refusals.begin();
  for (uint32_t index = 0; index < count; ++index) {
    if (refusal != message.refusals.end() && refusal->index() == index) {
      ++refusal;
    } else {
      job->insert.indices.push_back(index);
    }
  }
  for (v1::InsertResponse::Refusal& refused : message.refusals) {
    *job->insert.response.add_refusals() = std::move(refused);
  }
  for (const Item& item : message.items) job->positions += item.metadata.own_positions;
  job->insert.items = std::move(message.items);
  return job;
}

}  // namespace

InsertStream::InsertStream(InsertQueue& queue, std::function<bool()> draining, bool replacements)
    : queue_(queue), draining_(std::move(draining)), replacements_(replacements) {}

void InsertStream::Begin() {
  Hold();
  // The metadata is sent at once, so that the client can tell a shard that holds inserts back from
  // one that is away: the first answer may have to wait for the rate limiter.
  StartSendInitialMetadata();
  Read();
}

void InsertStream::Read() {
  {
    const absl::MutexLock lock(&mutex_);
    if (reading_ || closing_ || read_all_ || in_queue_ >= kMaxInQueue) return;
    reading_ = true;
  }
  queue_.WhenRoom(replacements_, [self = Self()] {
    const absl::MutexLock lock(&self->mutex_);
    if (!self->closing_) self->StartRead(&self->request_);
  });
}

void InsertStream::OnReadDone(bool ok) {
  const std::shared_ptr<InsertStream> keep = Self();
  if (ok) return Take();
  const absl::MutexLock lock(&mutex_);
  read_all_ = true;
  CloseIfDone();
}

void InsertStream::Take() {
  absl::StatusOr<InsertMessage> message = ReadInsertRequest(request_);
  request_.Clear();
  if (!message.ok()) return Close(ToGrpc(message.status()));
  if (draining_()) return Close(Drained());
  std::unique_ptr<InsertJob> job = MakeJob(*std::move(message));
  job->stream = this;
  job->wanted = [self = Self()] { return !self->closing(); };
  job->done = [self = Self()](const absl::Status& status, const v1::InsertResponse& response) {
    self->Answer(status, response);
  };
  {
    const absl::MutexLock lock(&mutex_);
    ++in_queue_;
    reading_ = false;
  }
  queue_.Add(std::move(job));
  Read();
}

void InsertStream::Answer(const absl::Status& status, const v1::InsertResponse& response) {
  if (!status.ok()) {
    const absl::MutexLock lock(&mutex_);
    --in_queue_;
    return CloseLocked(ToGrpc(status));
  }
  grpc::ByteBuffer bytes = ToByteBuffer(response);
  {
    const absl::MutexLock lock(&mutex_);
    --in_queue_;
    answers_.push_back(std::move(bytes));
    WriteNext();
  }
  Read();
}

void InsertStream::WriteNext() {
  if (!closing_ && !writing_ && !answers_.empty()) Write(&answers_.front());
}

void InsertStream::OnWriteDone(bool ok) {
  const std::shared_ptr<InsertStream> keep = Self();
  const absl::MutexLock lock(&mutex_);
  answers_.pop_front();
  if (!EndWrite(ok)) return;
  WriteNext();
  CloseIfDone();
}

void InsertStream::CloseIfDone() {
  if (read_all_ && in_queue_ == 0 && answers_.empty()) CloseLocked(grpc::Status::OK);
}

}  // namespace mallocmuzero
