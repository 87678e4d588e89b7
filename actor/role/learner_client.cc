#include "actor/role/learner_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/status_macros.h"

namespace mallocmuzero {
namespace {

// How often it looks whether weights are wanted, or it is to stop.
constexpr absl::Duration kLook = absl::Milliseconds(50);

// A transfer that takes longer is taken up again where it is then.
constexpr absl::Duration kFetchTimeout = absl::Minutes(1);

// More than any network or program takes.
constexpr uint64_t kMostFileBytes = uint64_t{4} << 30;

// The newest notice of a WatchCheckpoint stream. gRPC calls it on its threads.
class Watch final : public grpc::ClientReadReactor<v1::CheckpointNotice> {
 public:
  Watch(v1::Learner::Stub& stub, const Security& security, const std::string& have_sha256) {
    request_.set_have_sha256(have_sha256);
    PrepareCall(context_, security, absl::InfiniteDuration());
    stub.async()->WatchCheckpoint(&context_, &request_, this);
    StartRead(&reading_);
    StartCall();
  }

  // Waits for a notice or the end. True: there is a notice that was not taken before.
  bool Await(absl::Duration timeout) {
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return fresh_ || done_; };
    const absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
    return fresh_;
  }

  v1::CheckpointNotice Take() {
    const absl::MutexLock lock(&mutex_);
    fresh_ = false;
    return newest_;
  }

  uint64_t notices() const {
    const absl::MutexLock lock(&mutex_);
    return notices_;
  }

  bool done() const {
    const absl::MutexLock lock(&mutex_);
    return done_;
  }

  // Why it has ended.
  grpc::Status status() const {
    const absl::MutexLock lock(&mutex_);
    return status_;
  }

  void Cancel() { context_.TryCancel(); }

  // Before it is destroyed.
  void CancelAndWait() {
    Cancel();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const absl::MutexLock lock(&mutex_);
      newest_ = reading_;
      fresh_ = true;
      ++notices_;
    }
    StartRead(&reading_);
  }

  void OnDone(const grpc::Status& status) override {
    const absl::MutexLock lock(&mutex_);
    status_ = status;
    done_ = true;
  }

 private:
  grpc::ClientContext context_;
  v1::WatchCheckpointRequest request_;
  v1::CheckpointNotice reading_;
  mutable absl::Mutex mutex_;
  v1::CheckpointNotice newest_ ABSL_GUARDED_BY(mutex_);
  uint64_t notices_ ABSL_GUARDED_BY(mutex_) = 0;
  bool fresh_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class LearnerClient::Impl {
 public:
  Impl(const LearnerClientOptions& options, LearnerClientHooks hooks)
      : options_(options),
        hooks_(std::move(hooks)),
        stub_(v1::Learner::NewStub(MakeChannel(options.address, *options.security))) {
    reporter_ = std::thread([this] { ReportAgainAndAgain(); });
    watcher_ = std::thread([this] { WatchAgainAndAgain(); });
  }

  ~Impl() {
    {
      const absl::MutexLock lock(&mutex_);
      stop_.Notify();
      for (grpc::ClientContext* context : running_) {
        if (context != nullptr) context->TryCancel();
      }
      if (watch_ != nullptr) watch_->Cancel();
    }
    reporter_.join();
    watcher_.join();
  }

  LearnerClientFigures figures() const {
    const absl::MutexLock lock(&mutex_);
    return figures_;
  }

 private:
  // Which thread a call is made by.
  enum Thread : uint8_t { kReporter, kWatcher };

  // Lets the destructor end a call that blocks.
  class RunningCall {
   public:
    RunningCall(Impl* impl, Thread thread, grpc::ClientContext* context)
        : impl_(impl), thread_(thread) {
      const absl::MutexLock lock(&impl_->mutex_);
      impl_->running_[thread_] = context;
      if (impl_->stop_.HasBeenNotified()) context->TryCancel();
    }
    ~RunningCall() {
      const absl::MutexLock lock(&impl_->mutex_);
      impl_->running_[thread_] = nullptr;
    }
    RunningCall(const RunningCall&) = delete;
    RunningCall& operator=(const RunningCall&) = delete;

   private:
    Impl* impl_;
    Thread thread_;
  };

  // What has arrived of a file.
  struct Partial {
    std::string sha256;
    std::string bytes;
  };

  void ReportAgainAndAgain();
  absl::Status Report();
  absl::Status Assign();
  void WatchAgainAndAgain();
  absl::Status FetchWeights(const v1::CheckpointNotice& notice);
  absl::Status Fetch(Thread thread, const std::string& sha256, uint64_t bytes, Partial& partial);
  void SetWatch(Watch* watch);
  void Note(const absl::Status& status);
  void NoteStep(uint64_t step);

  const LearnerClientOptions options_;
  const LearnerClientHooks hooks_;
  const std::unique_ptr<v1::Learner::Stub> stub_;
  absl::Notification stop_;

  // Of the reporter.
  uint64_t wanted_version_ = 0;
  uint64_t assigned_version_ = 0;
  bool assigned_ = false;
  ProgramFiles files_;
  Partial partial_program_;

  // Of the watcher.
  std::string have_sha256_;
  Partial partial_weights_;

  mutable absl::Mutex mutex_;
  grpc::ClientContext* running_[2] ABSL_GUARDED_BY(mutex_) = {nullptr, nullptr};
  Watch* watch_ ABSL_GUARDED_BY(mutex_) = nullptr;  // that runs
  LearnerClientFigures figures_ ABSL_GUARDED_BY(mutex_);

  std::thread reporter_;
  std::thread watcher_;
};

// Lets the destructor end it.
void LearnerClient::Impl::SetWatch(Watch* watch) {
  const absl::MutexLock lock(&mutex_);
  watch_ = watch;
  if (watch != nullptr && stop_.HasBeenNotified()) watch->Cancel();
}

void LearnerClient::Impl::Note(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  if (status.ok()) {
    figures_.last_contact = absl::Now();
  } else {
    figures_.last_error = std::string(status.message());
  }
}

// A learner that has started again may be behind what it was.
void LearnerClient::Impl::NoteStep(uint64_t step) {
  const absl::MutexLock lock(&mutex_);
  figures_.newest_step = step;
}

void LearnerClient::Impl::ReportAgainAndAgain() {
  Backoff backoff(options_.seed);
  while (!stop_.HasBeenNotified()) {
    absl::Status status = Report();
    if (status.ok() && (!assigned_ || assigned_version_ != wanted_version_)) status = Assign();
    Note(status);
    if (status.ok()) backoff.Reset();
    stop_.WaitForNotificationWithTimeout(status.ok() ? options_.report_interval : backoff.Next());
  }
}

absl::Status LearnerClient::Impl::Report() {
  const v1::ActorReport report = hooks_.report();
  grpc::ClientContext context;
  PrepareCall(context, *options_.security, options_.timeout);
  const RunningCall running(this, kReporter, &context);
  v1::ActorOrders orders;
  const absl::Time start = absl::Now();
  const absl::Status status = FromGrpc(stub_->Report(&context, report, &orders));
  {
    const absl::MutexLock lock(&mutex_);
    ++(status.ok() ? figures_.reports : figures_.failed_reports);
    figures_.last_report_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  }
  if (status.ok()) {
    NoteStep(orders.step());
    wanted_version_ = orders.assignment_version();
  }
  hooks_.reported(report, status, orders);
  return status;
}

absl::Status LearnerClient::Impl::Assign() {
  v1::Assignment assignment;
  {
    grpc::ClientContext context;
    PrepareCall(context, *options_.security, options_.timeout);
    const RunningCall running(this, kReporter, &context);
    MMZ_RETURN_IF_ERROR(
        FromGrpc(stub_->GetAssignment(&context, v1::GetAssignmentRequest(), &assignment)));
  }
  ProgramFiles files;
  for (const v1::Assignment::Program& program : assignment.programs()) {
    auto& file = files[program.file_sha256()];
    if (const auto found = files_.find(program.file_sha256()); found != files_.end()) {
      file = found->second;
      continue;
    }
    MMZ_RETURN_IF_ERROR(
        Fetch(kReporter, program.file_sha256(), program.file_bytes(), partial_program_));
    file = std::make_shared<const std::string>(std::move(partial_program_.bytes));
    partial_program_ = {};
    // So that what has arrived is not asked for again if the next one does not.
    files_[program.file_sha256()] = file;
  }
  files_ = files;
  MMZ_RETURN_IF_ERROR(hooks_.assigned(assignment, files));
  assigned_ = true;
  assigned_version_ = assignment.version();
  return absl::OkStatus();
}

void LearnerClient::Impl::WatchAgainAndAgain() {
  Backoff backoff(options_.seed + 1);
  while (!stop_.HasBeenNotified()) {
    Watch watch(*stub_, *options_.security, have_sha256_);
    SetWatch(&watch);
    uint64_t noted = 0;
    std::optional<v1::CheckpointNotice> wanted;
    while (!stop_.HasBeenNotified() && !watch.done()) {
      if (watch.Await(kLook)) {
        wanted = watch.Take();
        Note(absl::OkStatus());
        NoteStep(wanted->step());
        // Read once: the next one may come at any time.
        const uint64_t notices = watch.notices();
        const absl::MutexLock lock(&mutex_);
        figures_.notices += notices - std::exchange(noted, notices);
      }
      if (!wanted.has_value() || !options_.fetch_weights ||
          (hooks_.wants_weights && !hooks_.wants_weights())) {
        continue;
      }
      const absl::Status status = FetchWeights(*wanted);
      wanted.reset();
      if (status.ok()) {
        backoff.Reset();
        continue;
      }
      // Newer ones are there: the next notice says which.
      if (absl::IsNotFound(status)) continue;
      Note(status);
      break;
    }
    SetWatch(nullptr);
    watch.CancelAndWait();
    if (!watch.status().ok() && !stop_.HasBeenNotified()) Note(FromGrpc(watch.status()));
    stop_.WaitForNotificationWithTimeout(backoff.Next());
  }
}

absl::Status LearnerClient::Impl::FetchWeights(const v1::CheckpointNotice& notice) {
  const absl::Time start = absl::Now();
  const absl::Status status = Fetch(kWatcher, notice.sha256(), notice.bytes(), partial_weights_);
  {
    const absl::MutexLock lock(&mutex_);
    figures_.fetch_seconds += absl::ToDoubleSeconds(absl::Now() - start);
  }
  MMZ_RETURN_IF_ERROR(status);
  const Partial whole = std::exchange(partial_weights_, {});
  MMZ_RETURN_IF_ERROR(hooks_.weights(notice.step(), whole.bytes));
  have_sha256_ = notice.sha256();
  return absl::OkStatus();
}

// Afterwards `partial` is the whole file, or what there is of it.
absl::Status LearnerClient::Impl::Fetch(Thread thread, const std::string& sha256, uint64_t bytes,
                                        Partial& partial) {
  if (bytes > kMostFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the learner offers a file of ", bytes, " bytes: more than this build takes"));
  }
  if (partial.sha256 != sha256) partial = {.sha256 = sha256, .bytes = {}};
  v1::FetchRequest request;
  request.set_sha256(sha256);
  request.set_offset(partial.bytes.size());
  const bool resumed = !partial.bytes.empty();
  grpc::ClientContext context;
  PrepareCall(context, *options_.security, kFetchTimeout);
  const RunningCall running(this, thread, &context);
  const std::unique_ptr<grpc::ClientReader<v1::FetchResponse>> stream =
      stub_->Fetch(&context, request);
  uint64_t received = 0;
  for (v1::FetchResponse chunk; partial.bytes.size() <= bytes && stream->Read(&chunk);) {
    partial.bytes += chunk.data();
    received += chunk.data().size();
  }
  if (partial.bytes.size() > bytes) context.TryCancel();
  const absl::Status status = FromGrpc(stream->Finish());
  const absl::MutexLock lock(&mutex_);
  figures_.fetched_bytes += received;
  figures_.resumed_fetches += resumed && received > 0 ? 1 : 0;
  if (partial.bytes.size() < bytes) {
    return status.ok() ? absl::UnavailableError("a file from the learner was cut short") : status;
  }
  if (partial.bytes.size() == bytes && Sha256(partial.bytes) == sha256) return absl::OkStatus();
  ++figures_.damaged_fetches;
  partial = {};
  return absl::DataLossError("a file from the learner is not what its SHA-256 says");
}

LearnerClient::LearnerClient(const LearnerClientOptions& options, LearnerClientHooks hooks)
    : impl_(std::make_unique<Impl>(options, std::move(hooks))) {}
LearnerClient::~LearnerClient() = default;
LearnerClientFigures LearnerClient::figures() const { return impl_->figures(); }

}  // namespace mallocmuzero
