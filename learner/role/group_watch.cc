#include "learner/role/group_watch.h"

#include <grpcpp/client_context.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "rpc/answer.h"
#include "rpc/channel.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);

uint64_t RandomNumber() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;  // not 0
}

}  // namespace

GroupWatch::GroupWatch(GroupWatchOptions options)
    : options_(std::move(options)), process_(RandomNumber()) {
  {
    const absl::MutexLock lock(&mutex_);
    members_.resize(options_.processes);
  }
  if (options_.rank > 0) thread_ = std::thread([this] { SendBeats(); });
}

GroupWatch::~GroupWatch() {
  stop_.Notify();
  if (thread_.joinable()) thread_.join();
}

void GroupWatch::Meet() {
  const absl::MutexLock lock(&mutex_);
  for (Member& member : members_) {
    member.met_process = 0;  // known with the next heartbeat
    member.seen = SteadyNow();
    member.lost = false;
  }
  calls_ = 0;
  met_ = SteadyNow();
  lost_.clear();
}

void GroupWatch::BeginCall() {
  const absl::MutexLock lock(&mutex_);
  ++calls_;
}

void GroupWatch::NoteLoss(uint32_t rank, const std::string& why) {
  Member& member = members_[rank];
  if (std::exchange(member.lost, true)) return;
  if (lost_.empty()) lost_ = absl::StrCat("process ", rank, " of the learner is lost: ", why);
}

// Notes the processes that have not given a sign of life. A process other than 0 watches process 0
// only.
void GroupWatch::NoteSilent() {
  const absl::Time now = SteadyNow();
  for (uint32_t rank = 0; rank < options_.processes; ++rank) {
    if (rank == options_.rank || (options_.rank > 0 && rank > 0)) continue;
    const absl::Duration silent = now - members_[rank].seen;
    if (silent < options_.silence) continue;
    NoteLoss(rank, absl::StrCat("no heartbeat for ", absl::ToInt64Seconds(silent), " s"));
  }
}

// Notes the process that has begun the fewest joint calls, if it is behind this one.
void GroupWatch::NoteLaggard() {
  uint32_t last = 0;
  for (uint32_t rank = 1; rank < options_.processes; ++rank) {
    if (last == 0 || members_[rank].calls < members_[last].calls) last = rank;
  }
  if (last == 0 || members_[last].calls >= calls_) return;
  NoteLoss(last, absl::StrCat("it is alive, but did not come to joint call ", calls_));
}

v1::GroupHealth GroupWatch::Accept(const v1::Heartbeat& beat) {
  v1::GroupHealth health;
  const absl::MutexLock lock(&mutex_);
  health.set_process(process_);
  if (beat.rank() > 0 && beat.rank() < options_.processes) {
    Member& member = members_[beat.rank()];
    if (member.met_process != 0 && member.met_process != beat.process()) {
      NoteLoss(beat.rank(), "it has ended and started again");
    }
    if (member.met_process == 0) member.met_process = beat.process();
    member.calls = beat.calls();
    member.seen = SteadyNow();
  }
  NoteSilent();
  health.set_lost(lost_);
  return health;
}

void GroupWatch::TakeAnswer(const v1::GroupHealth& health) {
  Member& first = members_[0];
  if (first.met_process != 0 && first.met_process != health.process()) {
    NoteLoss(0, "it has ended and started again");
  }
  if (first.met_process == 0) first.met_process = health.process();
  first.seen = SteadyNow();
  // An answer that was on its way while the processes met may tell an earlier loss.
  if (lost_.empty() && SteadyNow() - met_ > options_.interval / 2) lost_ = health.lost();
}

void GroupWatch::SendBeats() {
  const auto stub = v1::LearnerGroup::NewStub(MakeChannel(options_.address, *options_.security));
  while (!stop_.WaitForNotificationWithTimeout(options_.interval)) {
    grpc::ClientContext context;
    PrepareCall(context, *options_.security, options_.silence / 2);
    v1::Heartbeat beat;
    beat.set_rank(options_.rank);
    beat.set_process(process_);
    {
      const absl::MutexLock lock(&mutex_);
      beat.set_calls(calls_);
    }
    v1::GroupHealth health;
    const bool ok = stub->Beat(&context, beat, &health).ok();
    const absl::MutexLock lock(&mutex_);
    if (ok) TakeAnswer(health);
  }
}

std::string GroupWatch::WhoIsLost(const absl::Notification& stop) {
  // Process 0 needs the time of a silence. The others also need its next answer.
  const absl::Time deadline = SteadyNow() + options_.silence + 3 * options_.interval;
  while (true) {
    {
      const absl::MutexLock lock(&mutex_);
      NoteSilent();
      const bool is_late = SteadyNow() > deadline;
      if (options_.rank == 0 && is_late) NoteLaggard();
      if (!lost_.empty()) return lost_;
      if (is_late) return "a process of the learner is lost";
    }
    if (stop.WaitForNotificationWithTimeout(kPoll)) return "this process stops";
  }
}

grpc::ServerUnaryReactor* GroupWatch::Beat(grpc::CallbackServerContext* context,
                                           const v1::Heartbeat* request,
                                           v1::GroupHealth* response) {
  const grpc::Status status = options_.security->CheckCaller(*context);
  if (status.ok()) *response = Accept(*request);
  return Answer(context, status);
}

}  // namespace mallocmuzero
