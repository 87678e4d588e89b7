#include "serve/mapper_service.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "base/utf8.h"
#include "env/program_rules.h"
#include "metrics/process_usage.h"
#include "rpc/answer.h"
#include "rpc/request_bytes.h"
#include "rpc/status.h"
#include "serve/request_program.h"

namespace mallocmuzero {
namespace {

// Answers that wait to be sent. A better mapping replaces one that was not sent yet, so that a slow
// client takes no memory.
class Outbox {
 public:
  void Add(v1::FindMappingResponse response) {
    switch (response.kind_case()) {
      case v1::FindMappingResponse::kStarted:
        started_ = std::move(response);
        break;
      case v1::FindMappingResponse::kBetter:
        better_ = std::move(response);
        break;
      default:
        result_ = std::move(response);
        break;
    }
  }

  // The next answer in the order of the protocol; none if all were taken.
  std::optional<v1::FindMappingResponse> Take() {
    if (started_.has_value()) return std::exchange(started_, std::nullopt);
    // The result is at least as good.
    if (result_.has_value()) better_ = std::nullopt;
    if (better_.has_value()) return std::exchange(better_, std::nullopt);
    return std::exchange(result_, std::nullopt);
  }

 private:
  std::optional<v1::FindMappingResponse> started_;
  std::optional<v1::FindMappingResponse> better_;
  std::optional<v1::FindMappingResponse> result_;
};

// The message of a status is in the metadata at the end of a call, of which a client takes 8 KiB.
// There a byte takes up to three. A message may have a name from the request, of megabytes.
constexpr size_t kMostMessageBytes = 2000;

grpc::Status StatusOfEnd(const absl::Status& status) {
  return ToGrpc(absl::Status(status.code(), Abridge(status.message(), kMostMessageBytes)));
}

// Calls whose search has ended and whose clients have not taken all answers yet.
constexpr uint32_t kMostUntaken = 64;

absl::Status Stopping() { return absl::UnavailableError("the server is stopping"); }

// The deadline of a call by SteadyNow. gRPC has it by the wall clock.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return SteadyNow() + (absl::FromChrono(deadline) - absl::Now());
}

}  // namespace

// One FindMapping call. It lives until the search has ended and gRPC is done with it. Deletes
// itself.
//
//   gRPC's thread    Admit ..................... OnWriteDone ......... OnWriteDone  OnDone
//   queue's thread          Run: Send, Send .... Send, End
//
// OnCancel comes at any time from one of gRPC's threads: the client cancelled, died, or its
// deadline passed.
class MapperService::Call final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public Work {
 public:
  Call(MapperService& service, const grpc::CallbackServerContext& context)
      : service_(service),
        options_(service.options_),
        arrived_(SteadyNow()),
        deadline_(DeadlineOf(context)) {}
  ~Call() override {
    if (is_counted_) --service_.open_calls_;
  }

  // Puts the request into the queue, or ends the call with the reason why not. Needs the bytes only
  // until it returns.
  void Admit(const grpc::Status& allowed, const grpc::ByteBuffer& bytes) {
    absl::Status status = FromGrpc(allowed);
    if (status.ok()) {
      is_counted_ = true;
      status = service_.CountOpenCall();
    }
    if (status.ok()) status = CheckRequestBytes(bytes.Length(), options_.settings.limits);
    if (status.ok()) status = FromGrpc(ParseRequest(bytes, request_));
    request_.DiscardUnknownFields();
    if (status.ok()) status = CheckRequest(request_, options_.settings.limits);
    if (status.ok()) status = service_.queue_.Push(this);
    if (!status.ok()) End(status);
  }

  void Run(absl::FunctionRef<void()> leave) override {
    MappingRequest request;
    request.request = &request_;
    request.arrived = arrived_;
    request.deadline = deadline_;
    if (options_.networks != nullptr) request.network = options_.networks->current();
    request.stop = [this] { return cancelled_ || service_.stopping_; };
    request.send = [this](v1::FindMappingResponse response) { Send(std::move(response)); };
    const absl::StatusOr<SearchFigures> figures = SearchMapping(request, options_.settings);
    service_.NoteEnd(figures.status());
    leave();  // a client that knows the end of its call must find room for the next one
    if (cancelled_) return End(absl::CancelledError("the client cancelled the call"));
    if (figures.ok()) options_.metrics->CountSearch(*figures);
    // Only the end of the server stops a search that the client has not cancelled.
    End(absl::IsCancelled(figures.status()) ? Stopping() : figures.status());
  }

  // Ends the call after the answers that wait. The object may be gone afterwards.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!status.ok()) options_.metrics->CountError(status);
    Next next;
    {
      const absl::MutexLock lock(&mutex_);
      ended_ = true;
      status_ = StatusOfEnd(status);
      next = ChooseNext();
    }
    Do(next);
  }

  void OnWriteDone(bool ok) override {
    Next next;
    bool was_better = false;
    {
      const absl::MutexLock lock(&mutex_);
      writing_ = false;
      was_better = ok && sends_better_;
      if (!ok) broken_ = true;
      next = ChooseNext();
    }
    if (!ok) cancelled_ = true;
    if (was_better) options_.metrics->CountBetter();
    Do(next);
  }

  void OnCancel() override {
    cancelled_ = true;
    if (service_.queue_.Remove(this)) End(absl::CancelledError("the client cancelled the call"));
  }

  void OnDone() override { delete this; }

 private:
  // A call of gRPC, to be made outside the lock.
  enum class Next : uint8_t { kNothing, kWrite, kFinish };

  void Send(v1::FindMappingResponse response) ABSL_LOCKS_EXCLUDED(mutex_) {
    Next next;
    {
      const absl::MutexLock lock(&mutex_);
      outbox_.Add(std::move(response));
      next = ChooseNext();
    }
    Do(next);
  }

  Next ChooseNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return Next::kNothing;
    if (!broken_) {
      if (std::optional<v1::FindMappingResponse> response = outbox_.Take()) {
        sends_better_ = response->has_better();
        sending_ = ToByteBuffer(*response);
        writing_ = true;
        return Next::kWrite;
      }
    }
    if (!ended_) return Next::kNothing;
    finished_ = true;
    return Next::kFinish;
  }

  // gRPC may call OnDone, which deletes this, as soon as Finish is called.
  void Do(Next next) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (next == Next::kWrite) StartWrite(&sending_);
    if (next == Next::kFinish) {
      grpc::Status status;
      {
        const absl::MutexLock lock(&mutex_);
        status = status_;
      }
      Finish(status);
    }
  }

  MapperService& service_;
  const MapperOptions& options_;
  bool is_counted_ = false;  // among the open calls
  v1::FindMappingRequest request_;
  const absl::Time arrived_;
  const absl::Time deadline_;
  std::atomic<bool> cancelled_ = false;

  absl::Mutex mutex_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;    // the client takes nothing any more
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;     // no further answers come
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  bool sends_better_ ABSL_GUARDED_BY(mutex_) = false;  // sending_ is a better mapping
  grpc::ByteBuffer sending_;                           // belongs to gRPC while writing_
};

MapperService::MapperService(const MapperOptions& options)
    : options_(options), queue_(options.searches, options.waiting) {}

MapperService::~MapperService() { Stop(); }

void MapperService::Stop() {
  stopping_ = true;
  for (Work* work : queue_.Close()) {
    static_cast<Call*>(work)->End(Stopping());
  }
  queue_.Join();
}

absl::Status MapperService::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

// A call keeps its request until its client has taken the answers.
absl::Status MapperService::CountOpenCall() {
  const uint32_t most = options_.searches + options_.waiting + kMostUntaken;
  if (++open_calls_ <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "more than ", most, " calls are open; clients take no answers; try again later"));
}

// Only OnDevice returns Internal. A lack of memory may pass.
void MapperService::NoteEnd(const absl::Status& search) {
  if (!absl::IsInternal(search)) return;
  const absl::MutexLock lock(&mutex_);
  status_.Update(search);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* MapperService::FindMapping(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  auto* call = new Call(*this, *context);
  call->Admit(options_.security->CheckCaller(*context), *request);
  return call;
}

v1::ServerInfo MapperService::Info() const {
  v1::ServerInfo info;
  info.set_version(std::string(BuildVersion()));
  info.set_rules_version(kGameRulesVersion);
  info.set_max_program_bytes(options_.settings.limits.max_program_bytes);
  info.set_max_budget_seconds(options_.settings.limits.max_budget_seconds);
  info.set_threads_per_search(options_.settings.threads);
  info.set_searches(options_.searches);
  info.set_waiting(options_.waiting);
  info.set_running_now(running());
  info.set_waiting_now(waiting());
  if (options_.networks != nullptr) {
    info.set_has_network(true);
    info.set_network_step(options_.networks->current()->step);
    info.set_reloads(options_.networks->reloads());
  }
  return info;
}

grpc::ServerUnaryReactor* MapperService::GetServerInfo(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  grpc::Status status = options_.security->CheckCaller(*context);
  if (status.ok()) status = CheckSmall(*request);
  if (status.ok()) *response = ToByteBuffer(Info());
  return Answer(context, status);
}

}  // namespace mallocmuzero
