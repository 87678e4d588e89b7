#include "learner/role/learner_service.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "rpc/answer.h"
#include "rpc/protocol.h"
#include "rpc/request_bytes.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

grpc::Status Superseded() {
  return {grpc::StatusCode::NOT_FOUND, "no such file; if it was weights, there are newer ones"};
}

grpc::Status Ending() { return {grpc::StatusCode::UNAVAILABLE, "the learner is stopping"}; }

// Returns a hash of the assignment's content. A count would not do, since a restarted learner would
// begin with the same number for another assignment.
uint64_t VersionOf(v1::Assignment assignment) {
  assignment.clear_version();
  const std::string hash = Sha256(SerializeDeterministically(assignment));
  uint64_t version = 0;
  std::memcpy(&version, hash.data(), sizeof(version));
  return version;
}

}  // namespace

// One WatchCheckpoint stream. Sends the newest notice when it can send and skips those in between.
// The service's mutex guards its state. Deletes itself when the call is done.
class LearnerService::Watcher final : public grpc::ServerWriteReactor<v1::CheckpointNotice> {
 public:
  Watcher(LearnerService* service, std::string have)
      : service_(service), sent_sha256_(std::move(have)) {}

  // Sends the newest notice unless a write is under way or it was sent already.
  void Offer() {
    service_->mutex_.AssertHeld();
    if (writing_ || finished_ || service_->newest_ == nullptr ||
        service_->newest_->notice.sha256() == sent_sha256_) {
      return;
    }
    notice_ = service_->newest_->notice;
    sent_sha256_ = notice_.sha256();
    writing_ = true;
    StartWrite(&notice_);
  }

  // Ends the stream, after the write under way if there is one.
  void End(const grpc::Status& status) {
    service_->mutex_.AssertHeld();
    if (!finished_) end_ = status;
    finished_ = true;
    if (!writing_ && !ended_) {
      ended_ = true;
      Finish(end_);
    }
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&service_->mutex_);
    writing_ = false;
    if (ok && !finished_) {
      Offer();
    } else {
      End(grpc::Status::CANCELLED);
    }
  }

  void OnCancel() override {
    const absl::MutexLock lock(&service_->mutex_);
    End(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    {
      const absl::MutexLock lock(&service_->mutex_);
      service_->watchers_.erase(this);
    }
    delete this;
  }

 private:
  LearnerService* const service_;
  v1::CheckpointNotice notice_;  // of the current write
  std::string sent_sha256_;
  bool writing_ = false;
  bool finished_ = false;  // the stream must end
  bool ended_ = false;     // Finish was called
  grpc::Status end_;
};

// One Fetch stream: sends a file from an offset on, chunk by chunk. Needs no mutex, because gRPC
// calls one method at a time. Deletes itself when the call is done.
class LearnerService::Sender final : public grpc::ServerWriteReactor<v1::FetchResponse> {
 public:
  Sender(LearnerService* service, Fetched file, uint64_t offset)
      : service_(service), file_(std::move(file)), offset_(offset) {
    service_->BeginTransfer(file_);
    SendNext();
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      SendNext();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }

  void OnDone() override {
    service_->EndTransfer(file_);
    delete this;
  }

 private:
  void SendNext() {
    const size_t size = std::min<size_t>(kMessageBytes, file_.bytes->size() - offset_);
    if (size == 0) {
      Finish(grpc::Status::OK);
      return;
    }
    if (const grpc::Status status = service_->MaySend(file_.number, size); !status.ok()) {
      Finish(status);
      return;
    }
    chunk_.set_data(file_.bytes->data() + offset_, size);
    offset_ += size;
    StartWrite(&chunk_);
  }

  LearnerService* const service_;
  const Fetched file_;
  size_t offset_;
  v1::FetchResponse chunk_;
};

namespace {

// Answers a streaming call with an error status. Deletes itself when the call is done.
template <typename Response>
class Refusal final : public grpc::ServerWriteReactor<Response> {
 public:
  explicit Refusal(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

LearnerService::LearnerService(std::shared_ptr<const Security> security, Reported reported,
                               Candidate candidate, uint64_t most_held_bytes)
    : security_(std::move(security)),
      reported_(std::move(reported)),
      candidate_(std::move(candidate)),
      most_held_bytes_(most_held_bytes) {}

LearnerService::~LearnerService() = default;

void LearnerService::SetAssignment(v1::Assignment assignment, Files programs) {
  assignment.set_version(VersionOf(assignment));
  const absl::MutexLock lock(&mutex_);
  assignment_ = std::move(assignment);
  programs_ = std::move(programs);
}

std::shared_ptr<const PublishedWeights> LearnerService::Publish(uint64_t step, std::string bytes) {
  auto weights = std::make_shared<PublishedWeights>();
  weights->notice.set_step(step);
  weights->notice.set_sha256(Sha256(bytes));
  weights->notice.set_bytes(bytes.size());
  weights->bytes = std::make_shared<const std::string>(std::move(bytes));
  const std::shared_ptr<const PublishedWeights> candidate = candidate_();
  const absl::MutexLock lock(&mutex_);
  weights->number = newest_ == nullptr ? 1 : newest_->number + 1;
  newest_ = weights;
  EndNewestTransfers(candidate == nullptr ? 0 : candidate->number);
  for (Watcher* watcher : watchers_) watcher->Offer();
  return weights;
}

void LearnerService::EndStreams() {
  const absl::MutexLock lock(&mutex_);
  ended_ = true;
  for (Watcher* watcher : watchers_) watcher->End(Ending());
}

uint64_t LearnerService::published_step() const {
  const absl::MutexLock lock(&mutex_);
  return newest_ == nullptr ? 0 : newest_->notice.step();
}

size_t LearnerService::watchers() const {
  const absl::MutexLock lock(&mutex_);
  return watchers_.size();
}

uint64_t LearnerService::fetched_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return fetched_bytes_;
}

grpc::ServerWriteReactor<v1::CheckpointNotice>* LearnerService::WatchCheckpoint(
    grpc::CallbackServerContext* context, const v1::WatchCheckpointRequest* request) {
  grpc::Status allowed = security_->CheckCaller(*context);
  // gRPC keeps the request for as long as the stream lives.
  if (allowed.ok()) allowed = CheckSmall(request->ByteSizeLong());
  if (!allowed.ok()) return new Refusal<v1::CheckpointNotice>(allowed);
  const absl::MutexLock lock(&mutex_);
  if (ended_) return new Refusal<v1::CheckpointNotice>(Ending());
  auto* watcher = new Watcher(this, request->have_sha256());
  watchers_.insert(watcher);
  watcher->Offer();
  return watcher;
}

absl::StatusOr<LearnerService::Fetched> LearnerService::Find(
    const v1::FetchRequest& request) const {
  const std::shared_ptr<const PublishedWeights> candidate = candidate_();
  const absl::MutexLock lock(&mutex_);
  Fetched fetched;
  if (const auto found = programs_.find(request.sha256()); found != programs_.end()) {
    fetched.bytes = found->second;
  }
  for (const auto& weights : {newest_, candidate}) {
    if (weights == nullptr || weights->notice.sha256() != request.sha256()) continue;
    fetched = {.bytes = weights->bytes, .number = weights->number};
  }
  if (fetched.bytes == nullptr) return FromGrpc(Superseded());
  if (request.offset() > fetched.bytes->size()) {
    return absl::OutOfRangeError("fetch.offset: behind the end of the file");
  }
  return fetched;
}

void LearnerService::BeginTransfer(const Fetched& file) {
  if (file.number == 0) return;
  const absl::MutexLock lock(&mutex_);
  Sent& sent = sent_[file.number];
  sent.bytes = file.bytes->size();
  ++sent.transfers;
}

void LearnerService::EndTransfer(const Fetched& file) {
  if (file.number == 0) return;
  const absl::MutexLock lock(&mutex_);
  const auto sent = sent_.find(file.number);
  if (--sent->second.transfers == 0) sent_.erase(sent);
}

// The transfers of the oldest version always go on, so that every slow actor gets weights in the
// end. The newest weights and the candidate are held anyway.
void LearnerService::EndNewestTransfers(uint64_t candidate) {
  uint64_t held = 0;
  for (auto& [number, sent] : sent_) {
    if (number == newest_->number || number == candidate || sent.ended) continue;
    sent.ended = held > 0 && held + sent.bytes > most_held_bytes_;
    if (!sent.ended) held += sent.bytes;
  }
}

grpc::Status LearnerService::MaySend(uint64_t number, size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (ended_) return Ending();
  if (number > 0 && sent_[number].ended) return Superseded();
  fetched_bytes_ += bytes;
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<v1::FetchResponse>* LearnerService::Fetch(
    grpc::CallbackServerContext* context, const v1::FetchRequest* request) {
  grpc::Status allowed = security_->CheckCaller(*context);
  if (allowed.ok()) allowed = CheckSmall(request->ByteSizeLong());
  if (!allowed.ok()) return new Refusal<v1::FetchResponse>(allowed);
  absl::StatusOr<Fetched> file = Find(*request);
  if (!file.ok()) return new Refusal<v1::FetchResponse>(ToGrpc(file.status()));
  return new Sender(this, *std::move(file), request->offset());
}

grpc::ServerUnaryReactor* LearnerService::GetAssignment(grpc::CallbackServerContext* context,
                                                        const v1::GetAssignmentRequest* /*request*/,
                                                        v1::Assignment* response) {
  const grpc::Status allowed = security_->CheckCaller(*context);
  if (!allowed.ok()) return Answer(context, allowed);
  {
    const absl::MutexLock lock(&mutex_);
    *response = assignment_;
  }
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* LearnerService::Report(grpc::CallbackServerContext* context,
                                                 const v1::ActorReport* request,
                                                 v1::ActorOrders* response) {
  const grpc::Status allowed = security_->CheckCaller(*context);
  if (!allowed.ok()) return Answer(context, allowed);
  absl::StatusOr<v1::ActorOrders> orders = reported_(*request);
  if (!orders.ok()) return Answer(context, ToGrpc(orders.status()));
  *response = *std::move(orders);
  if (const auto candidate = candidate_(); candidate != nullptr) {
    *response->mutable_candidate() = candidate->notice;
  }
  {
    const absl::MutexLock lock(&mutex_);
    if (newest_ != nullptr) response->set_step(newest_->notice.step());
    response->set_assignment_version(assignment_.version());
  }
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* RoleStatusService::GetStatus(grpc::CallbackServerContext* context,
                                                       const v1::GetStatusRequest* /*request*/,
                                                       v1::RoleStatus* response) {
  const grpc::Status allowed = security_->CheckCaller(*context);
  if (!allowed.ok()) return Answer(context, allowed);
  *response = describe_();
  return Answer(context, grpc::Status::OK);
}

}  // namespace mallocmuzero
