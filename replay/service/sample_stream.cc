#include "replay/service/sample_stream.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"
#include "replay/wire/wire.h"
#include "rpc/protocol.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// The most draws that a client may have asked for and not received.
constexpr uint64_t kMaxAskedDraws = 1 << 20;

// A request has some ten bytes, and may have more in a later release. Protobuf would make objects
// of a long one's unknown fields, thirty times their size.
constexpr size_t kMaxRequestBytes = 1 << 10;

}  // namespace

void SampleStream::Begin() {
  Hold();
  // At once, as in InsertStream::Begin: the first answer may have to wait for games.
  StartSendInitialMetadata();
  const absl::MutexLock lock(&mutex_);
  StartRead(&request_);
}

void SampleStream::OnReadDone(bool ok) {
  const std::shared_ptr<SampleStream> keep = Self();
  if (!ok) {
    const absl::MutexLock lock(&mutex_);
    read_all_ = true;
    return CloseIfDone();
  }
  if (absl::Status status = Take(); !status.ok()) return Close(ToGrpc(status));
  {
    const absl::MutexLock lock(&mutex_);
    if (!closing_) StartRead(&request_);
  }
  Serve();
}

absl::Status SampleStream::Take() {
  v1::SampleRequest request;
  if (request_.Length() > kMaxRequestBytes ||
      !grpc::SerializationTraits<v1::SampleRequest>::Deserialize(&request_, &request).ok()) {
    return absl::InvalidArgumentError("not a SampleRequest");
  }
  request.DiscardUnknownFields();
  if (request.selection() != v1::PRIORITIZED && request.selection() != v1::UNIFORM &&
      request.selection() != v1::BEST) {
    return absl::InvalidArgumentError(
        absl::StrCat("selection: ", request.selection(), ", must be PRIORITIZED, UNIFORM or BEST"));
  }
  if (request.draws() == 0) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  if (asked_draws_ + request.draws() > kMaxAskedDraws) {
    return absl::InvalidArgumentError(absl::StrCat("draws: ", asked_draws_ + request.draws(),
                                                   " in all, must be at most ", kMaxAskedDraws));
  }
  asked_draws_ += request.draws();
  if (!asked_.empty() && asked_.back().selection() == request.selection() &&
      asked_.back().unlimited() == request.unlimited()) {
    asked_.back().set_draws(asked_.back().draws() + request.draws());
  } else {
    asked_.push_back(request);
  }
  return absl::OkStatus();
}

void SampleStream::Serve() {
  const std::shared_ptr<SampleStream> self = Self();
  v1::SampleRequest asked;
  {
    const absl::MutexLock lock(&mutex_);
    if (serving_ || closing_ || asked_.empty()) return;
    serving_ = true;
    asked = asked_.front();
  }
  host_.Run([self, asked] { self->Produce(asked); });
}

void SampleStream::Produce(const v1::SampleRequest& asked) {
  ReplayTable& table = host_.table();
  const ReplayTable::Draws draws =
      table.Draw(asked.selection(), asked.draws(), kMessageBytes, asked.unlimited());
  if (draws.count > 0) {
    const uint32_t undelivered = Send(draws, asked.unlimited());
    if (asked.unlimited()) return;
    GiveBack(undelivered);
    host_.OnDrawn();
    return;
  }
  {
    const absl::MutexLock lock(&mutex_);
    serving_ = false;
  }
  host_.Wait(Self());
  // An insert between Draw and Wait does not wake the stream, so look again.
  if (table.MayDraw(asked.selection(), asked.unlimited())) Serve();
}

// Sends the draws whose items can be read. The others still count as asked for, so the client gets
// as many later. The table removes damaged items, so that a stream that can draw nothing else does
// not fail for ever. Returns the number of draws that were not sent.
uint32_t SampleStream::Send(const ReplayTable::Draws& draws, bool unlimited) {
  SampleResponseWriter writer;
  uint32_t sent = 0;
  uint32_t unreadable = 0;
  absl::Status status;
  for (const ReplayTable::Drawn& drawn : draws.items) {
    absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
    if (!bytes.ok()) {
      host_.table().NoteUnreadable(drawn.source, bytes.status());
      status = bytes.status();
      unreadable += drawn.draws.size();
      continue;
    }
    writer.AddItem(*bytes, drawn.draws);
    sent += drawn.draws.size();
  }
  if (sent == 0) {
    Close(ToGrpc(status));
    return unreadable;
  }
  const absl::MutexLock lock(&mutex_);
  if (closing_) return draws.count;
  host_.metrics().sampled_bytes().Increment(static_cast<double>(writer.bytes()));
  counted_draws_ = unlimited ? 0 : sent;
  answer_ = writer.Finish(draws.answer);
  asked_draws_ -= sent;
  asked_.front().set_draws(asked_.front().draws() - sent);
  if (asked_.front().draws() == 0) asked_.pop_front();
  Write(&answer_);
  return unreadable;
}

void SampleStream::GiveBack(uint32_t draws) {
  if (draws == 0) return;
  host_.table().CountUndelivered(draws);
  host_.OnUndelivered();
}

void SampleStream::OnWriteDone(bool ok) {
  const std::shared_ptr<SampleStream> keep = Self();
  uint32_t undelivered = 0;
  bool goes_on = false;
  {
    const absl::MutexLock lock(&mutex_);
    if (!ok) undelivered = counted_draws_;
    answer_.Clear();
    serving_ = false;
    goes_on = EndWrite(ok);
    if (goes_on) CloseIfDone();
  }
  GiveBack(undelivered);
  if (goes_on) Serve();
}

void SampleStream::CloseIfDone() {
  if (read_all_ && asked_.empty() && !writing_) CloseLocked(grpc::Status::OK);
}

}  // namespace mallocmuzero
