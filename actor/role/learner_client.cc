#include "actor/role/learner_client.h"

#include <grpcpp/client_context.h>

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
#include "absl/time/time.h"
#include "actor/role/checkpoint_watch.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// How often the watcher checks whether weights are wanted or it must stop.
constexpr absl::Duration kLook = absl::Milliseconds(50);

// The time of a transfer, and the bytes a second that give it more. A connection of this rate gets
// whole weights: replaced ones could not continue where they were.
constexpr absl::Duration kFetchTimeout = absl::Minutes(1);
constexpr uint64_t kSlowBytesPerSecond = 64 << 10;

// The largest file; no network or program needs as much.
constexpr uint64_t kMostFileBytes = uint64_t{4} << 30;

absl::Duration FetchTimeout(uint64_t bytes) {
  return kFetchTimeout + absl::Seconds(bytes / kSlowBytesPerSecond);
}

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

  ~Impl() { EndCalls(); }

  void Leave(absl::Duration timeout);

  LearnerClientFigures figures() const {
    const absl::MutexLock lock(&mutex_);
    LearnerClientFigures figures = figures_;
    for (const std::string* trouble : {&call_trouble_, &weights_trouble_, &candidate_trouble_}) {
      if (figures.trouble.empty()) figures.trouble = *trouble;
    }
    return figures;
  }

 private:
  // The thread that makes a call.
  enum Thread : uint8_t { kReporter, kWatcher };

  // Registers a blocking call while it runs, so that EndCalls can cancel it.
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

  // The part of a file that has arrived.
  struct Partial {
    std::string sha256;
    std::string bytes;
  };

  void EndCalls();
  void ReportAgainAndAgain();
  absl::Status Report();
  absl::Status Assign();
  void WatchAgainAndAgain();
  void Follow(CheckpointWatch& watch, Backoff& backoff);
  bool WantsWeights() const;
  absl::Status TakeWeights(const v1::CheckpointNotice& notice, Backoff& backoff);
  absl::Status FetchWeights(const v1::CheckpointNotice& notice);
  absl::Status FetchCandidate();
  absl::Status Fetch(Thread thread, const std::string& sha256, uint64_t bytes, Partial& partial);
  void SetWatch(CheckpointWatch* watch);
  void NoteCall(const absl::Status& status);
  void NoteWeights(const absl::Status& status);
  void NoteCandidate(const absl::Status& status);
  void NoteFailure(const absl::Status& status, std::string& trouble)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LearnerClientOptions options_;
  const LearnerClientHooks hooks_;
  const std::unique_ptr<v1::Learner::Stub> stub_;
  absl::Notification stop_;

  // Used by the reporter only.
  uint64_t wanted_version_ = 0;
  uint64_t assigned_version_ = 0;
  bool assigned_ = false;
  ProgramFiles files_;
  Partial partial_program_;

  // Used by the watcher only.
  std::string have_sha256_;
  uint64_t superseded_ = 0;     // fetches of weights in a row that the learner no longer had
  std::string lost_candidate_;  // SHA-256 of a candidate that the learner no longer has
  Partial partial_weights_;
  Partial partial_candidate_;

  mutable absl::Mutex mutex_;
  grpc::ClientContext* running_[2] ABSL_GUARDED_BY(mutex_) = {nullptr, nullptr};
  CheckpointWatch* watch_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the running one
  LearnerClientFigures figures_ ABSL_GUARDED_BY(mutex_);
  std::string call_trouble_ ABSL_GUARDED_BY(mutex_);       // of the last report or assignment
  std::string weights_trouble_ ABSL_GUARDED_BY(mutex_);    // of the last transfer of weights
  std::string candidate_trouble_ ABSL_GUARDED_BY(mutex_);  // likewise, while one is wanted

  std::thread reporter_;
  std::thread watcher_;
};

// Registers the running watch, so that EndCalls can cancel it.
void LearnerClient::Impl::SetWatch(CheckpointWatch* watch) {
  const absl::MutexLock lock(&mutex_);
  watch_ = watch;
  if (watch != nullptr && stop_.HasBeenNotified()) watch->Cancel();
}

void LearnerClient::Impl::EndCalls() {
  {
    const absl::MutexLock lock(&mutex_);
    if (stop_.HasBeenNotified()) return;
    stop_.Notify();
    for (grpc::ClientContext* context : running_) {
      if (context != nullptr) context->TryCancel();
    }
    if (watch_ != nullptr) watch_->Cancel();
  }
  reporter_.join();
  watcher_.join();
}

void LearnerClient::Impl::Leave(absl::Duration timeout) {
  EndCalls();
  v1::ActorReport report = hooks_.report();
  report.set_leaving(true);
  grpc::ClientContext context;
  PrepareCall(context, *options_.security, timeout);
  v1::ActorOrders orders;
  // The result does not matter: a learner that gets no report forgets the actor after a while.
  (void)stub_->Report(&context, report, &orders);
}

void LearnerClient::Impl::NoteFailure(const absl::Status& status, std::string& trouble) {
  // After a stop calls fail because EndCalls has cancelled them.
  if (stop_.HasBeenNotified()) return;
  trouble = Reason(status);
  figures_.last_error = trouble;
}

void LearnerClient::Impl::NoteCall(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  if (!status.ok()) return NoteFailure(status, call_trouble_);
  figures_.last_contact = SteadyNow();
  call_trouble_.clear();
}

void LearnerClient::Impl::NoteWeights(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  if (!status.ok()) return NoteFailure(status, weights_trouble_);
  weights_trouble_.clear();
}

void LearnerClient::Impl::NoteCandidate(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  if (!status.ok()) return NoteFailure(status, candidate_trouble_);
  candidate_trouble_.clear();
}

void LearnerClient::Impl::ReportAgainAndAgain() {
  Backoff backoff(options_.seed);
  while (!stop_.HasBeenNotified()) {
    absl::Status status = Report();
    if (status.ok() && (!assigned_ || assigned_version_ != wanted_version_)) status = Assign();
    NoteCall(status);
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
  const absl::Status status = FromGrpc(stub_->Report(&context, report, &orders));
  {
    const absl::MutexLock lock(&mutex_);
    ++(status.ok() ? figures_.reports : figures_.failed_reports);
  }
  if (status.ok()) wanted_version_ = orders.assignment_version();
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
    // Kept at once, so that this file is not fetched again if the next one fails.
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
    CheckpointWatch watch(*stub_, *options_.security, have_sha256_);
    SetWatch(&watch);
    Follow(watch, backoff);
    SetWatch(nullptr);
    // The watch's error is not noted, because the next report will fail for the same reason.
    watch.CancelAndWait();
    stop_.WaitForNotificationWithTimeout(backoff.Next());
  }
}

// Fetches what is wanted until the watch has ended or a transfer fails.
void LearnerClient::Impl::Follow(CheckpointWatch& watch, Backoff& backoff) {
  uint64_t noted = 0;
  std::optional<v1::CheckpointNotice> wanted;
  while (!stop_.HasBeenNotified() && !watch.done()) {
    if (watch.Await(kLook)) {
      wanted = watch.Take();
      // Read once, since the count may grow between two reads.
      const uint64_t notices = watch.notices();
      const absl::MutexLock lock(&mutex_);
      figures_.notices += notices - std::exchange(noted, notices);
    }
    // The weights come first: a candidate that cannot be taken must not keep newer weights away.
    if (wanted.has_value() && WantsWeights()) {
      if (!TakeWeights(*std::exchange(wanted, std::nullopt), backoff).ok()) return;
    }
    const absl::Status status = FetchCandidate();
    NoteCandidate(status);
    if (!status.ok()) return;
  }
}

bool LearnerClient::Impl::WantsWeights() const {
  return options_.fetch_weights && (!hooks_.wants_weights || hooks_.wants_weights());
}

// Fetches weights and notes how that has ended. OK if the learner has newer weights and no longer
// these; the next notice will name them.
absl::Status LearnerClient::Impl::TakeWeights(const v1::CheckpointNotice& notice,
                                              Backoff& backoff) {
  absl::Status status = FetchWeights(notice);
  if (absl::IsNotFound(status)) {
    // Only a repeated failure is noted, because a single one is normal.
    if (superseded_++ > 0) {
      NoteWeights(status);
      stop_.WaitForNotificationWithTimeout(backoff.Next());
    }
    return absl::OkStatus();
  }
  superseded_ = 0;
  NoteWeights(status);
  if (status.ok()) backoff.Reset();
  return status;
}

absl::Status LearnerClient::Impl::FetchWeights(const v1::CheckpointNotice& notice) {
  const absl::Time start = SteadyNow();
  const absl::Status status = Fetch(kWatcher, notice.sha256(), notice.bytes(), partial_weights_);
  {
    const absl::MutexLock lock(&mutex_);
    figures_.fetch_seconds += absl::ToDoubleSeconds(SteadyNow() - start);
    figures_.fetches += status.ok() ? 1 : 0;
  }
  MMZ_RETURN_IF_ERROR(status);
  const Partial whole = std::exchange(partial_weights_, {});
  MMZ_RETURN_IF_ERROR(hooks_.weights(notice, whole.bytes));
  have_sha256_ = notice.sha256();
  return absl::OkStatus();
}

// Fetches the candidate's weights if they are wanted. OK if the learner no longer has them, because
// its next orders will name another candidate.
absl::Status LearnerClient::Impl::FetchCandidate() {
  if (!hooks_.wanted_candidate) return absl::OkStatus();
  const std::optional<v1::CheckpointNotice> wanted = hooks_.wanted_candidate();
  if (!wanted.has_value() || wanted->sha256() == lost_candidate_) return absl::OkStatus();
  const absl::Status status =
      Fetch(kWatcher, wanted->sha256(), wanted->bytes(), partial_candidate_);
  if (absl::IsNotFound(status)) {
    lost_candidate_ = wanted->sha256();
    return absl::OkStatus();
  }
  MMZ_RETURN_IF_ERROR(status);
  const Partial whole = std::exchange(partial_candidate_, {});
  return hooks_.candidate_weights(*wanted, whole.bytes);
}

// Fetches the rest of a file of `bytes` bytes into `partial`. After an error `partial` keeps what
// has arrived, or nothing if the SHA-256 is wrong.
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
  grpc::ClientContext context;
  PrepareCall(context, *options_.security, FetchTimeout(bytes - partial.bytes.size()));
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
  const bool whole = partial.bytes.size() == bytes && Sha256(partial.bytes) == sha256;
  const absl::MutexLock lock(&mutex_);
  figures_.fetched_bytes += received;
  if (partial.bytes.size() < bytes) {
    return status.ok() ? absl::UnavailableError("a file from the learner was cut short") : status;
  }
  if (whole) return absl::OkStatus();
  ++figures_.damaged_fetches;
  partial = {};
  return absl::DataLossError("a file from the learner is not what its SHA-256 says");
}

LearnerClient::LearnerClient(const LearnerClientOptions& options, LearnerClientHooks hooks)
    : impl_(std::make_unique<Impl>(options, std::move(hooks))) {}
LearnerClient::~LearnerClient() = default;
void LearnerClient::Leave(absl::Duration timeout) { impl_->Leave(timeout); }
LearnerClientFigures LearnerClient::figures() const { return impl_->figures(); }

}  // namespace mallocmuzero
