#include "learner/role/learner_role.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "learner/role/learner_role_impl.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);

// A learner gets no games. The largest request is an actor's report, with some hundred bytes for
// each program.
constexpr int kMostRequestBytes = 8 << 20;

}  // namespace

absl::Status LearnerRole::Impl::Start() {
  MMZ_RETURN_IF_ERROR(StartTraining());
  if (rank_ == 0) MMZ_RETURN_IF_ERROR(StartServing());
  trainer_ = std::thread([this] {
    const absl::Status status = training_->Run(*batches_, stop_);
    {
      const absl::MutexLock lock(&mutex_);
      status_ = status;
    }
    trained_.Notify();
  });
  ticker_ = std::thread([this] {
    do Tick();
    while (!stop_.WaitForNotificationWithTimeout(kTick));
  });
  return absl::OkStatus();
}

absl::Status LearnerRole::Impl::StartTraining() {
  const v1::LearnerRole& learner = config_.learner();
  std::optional<RunDirectory> directory;
  if (rank_ == 0) MMZ_RETURN_IF_ERROR(OpenRun(directory));
  if (learner.processes() > 1) {
    watch_ = std::make_unique<GroupWatch>(GroupWatchOptions{.rank = rank_,
                                                            .processes = learner.processes(),
                                                            .address = learner.address(),
                                                            .security = security_});
  }
  absl::StatusOr<std::unique_ptr<GameBook>> book =
      GameBook::Create(programs_, rank_ > 0, RankedQuantile(learner.options()));
  if (!book.ok()) return book.status();
  book_ = *std::move(book);
  TrainingHooks hooks = {
      .publish =
          [this](uint64_t step, std::string bytes) {
            auto weights = service_->Publish(step, std::move(bytes));
            if (config_.learner().evaluated_share() > 0) versions_.Publish(std::move(weights));
          },
      .played =
          [this] {
            const ActorTotals totals = actors_.Totals(0, SteadyNow());
            return ActorWork{totals.games, totals.decisions, totals.simulations};
          },
      .mean_returns = [this] { return actors_.MeanReturns(); },
      .scored =
          [this] { return DescribeScored(config_.learner(), programs_, versions_.TakeScored()); },
      .met = [this] { watch_->Meet(); },
      .joint_call = [this] { watch_->BeginCall(); },
      .lost = [this](const absl::Notification& stop) { return watch_->WhoIsLost(stop); },
      .may_write = [this] { return run_lock_->Check(); }};
  absl::StatusOr<std::unique_ptr<Training>> training =
      Training::Create(learner, rank_, *book_, std::move(directory), std::move(hooks));
  if (!training.ok()) return training.status();
  training_ = *std::move(training);
  return StartSampler();
}

// Takes the run's folder, which only process 0 uses.
absl::Status LearnerRole::Impl::OpenRun(std::optional<RunDirectory>& directory) {
  const v1::LearnerRole& learner = config_.learner();
  MMZ_RETURN_IF_ERROR(CheckThatNoLearnerServes(learner, *security_));
  absl::StatusOr<RunLock> lock = RunLock::Acquire(learner.run_dir());
  if (!lock.ok()) return lock.status();
  run_lock_ = *std::move(lock);
  MMZ_RETURN_IF_ERROR(CheckThatRunIsThere(config_, *security_));
  absl::StatusOr<RunDirectory> opened = OpenRunDirectory(learner);
  if (!opened.ok()) return opened.status();
  directory = *std::move(opened);
  return absl::OkStatus();
}

absl::Status LearnerRole::Impl::StartSampler() {
  const v1::LearnerRole& learner = config_.learner();
  ReplaySamplerOptions options;
  absl::StatusOr<std::unique_ptr<Membership>> membership =
      Membership::Open(config_, rank_, security_);
  if (!membership.ok()) return membership.status();
  membership_ = *std::move(membership);
  membership_->Connect([this] { return run_lock_->Check(); },
                       [this](const auto& shards) { sampler_->SetShards(shards); });
  options.shards = membership_->active();
  options.security = security_;
  options.prefetch = std::min(training_->rows(), kMostPrefetchedDraws);
  options.seed = learner.seed() + rank_;
  options.registry = &registry_;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> sampler = ReplaySampler::Start(std::move(options));
  if (!sampler.ok()) return sampler.status();
  sampler_ = *std::move(sampler);
  batches_ = std::make_unique<BatchSource>(
      BatchSourceOptions{.learner = learner.options(),
                         .shape = BatchShape::Of(learner.options(), training_->rows(),
                                                 learner.importance_exponent()),
                         .queued_batches = learner.prefetched_batches(),
                         .threads = learner.threads(),
                         .best_games = MostBestGames(config_)},
      programs_, *book_,
      PositionSource{.draw =
                         [this](v1::Selection selection, size_t count, absl::Duration timeout) {
                           return sampler_->Draw(selection, count, timeout);
                         },
                     .positions = [this] { return sampler_->positions(); },
                     .prioritize =
                         [this](auto drawn, auto priorities) {
                           sampler_->UpdatePriorities(drawn, priorities);
                         }});
  return absl::OkStatus();
}

absl::Status LearnerRole::Impl::StartServing() {
  service_ = std::make_unique<LearnerService>(
      security_, [this](const v1::ActorReport& report) { return AcceptReport(report); },
      [this] { return versions_.candidate(); });
  status_service_ = std::make_unique<RoleStatusService>(security_, [this] { return Describe(); });
  absl::StatusOr<RoleAssignment> assignment = MakeAssignment(config_.learner(), programs_);
  if (!assignment.ok()) return assignment.status();
  service_->SetAssignment(std::move(assignment->assignment), std::move(assignment->files));
  MMZ_RETURN_IF_ERROR(training_->Publish());
  std::vector<grpc::Service*> services = {service_.get(), status_service_.get(), membership_.get()};
  if (watch_ != nullptr) services.push_back(watch_.get());
  absl::StatusOr<std::unique_ptr<RpcServer>> server =
      RpcServer::Start({.address = config_.learner().listen_address(),
                        .security = security_,
                        .services = std::move(services),
                        .most_request_bytes = kMostRequestBytes,
                        .registry = &registry_});
  if (!server.ok()) {
    const bool is_own = config_.learner().listen_address() != config_.learner().address();
    return StatusAt(is_own ? "learner.listen_address" : "learner.address", server.status());
  }
  server_ = *std::move(server);
  address_ = server_->address();
  return absl::OkStatus();
}

void LearnerRole::Impl::RequestStop() {
  const absl::MutexLock lock(&mutex_);
  if (!stopping_) stop_.Notify();
  stopping_ = true;
}

void LearnerRole::Impl::Join() {
  if (trainer_.joinable()) trainer_.join();
  if (ticker_.joinable()) ticker_.join();
  if (sampler_ != nullptr) sampler_->Stop();
  batches_ = nullptr;
}

absl::Status LearnerRole::Impl::Stop(absl::Duration grace) {
  const absl::Time deadline = SteadyNow() + grace;
  RequestStop();
  if (service_ != nullptr) service_->EndStreams();
  sampler_->Stop();
  trained_.WaitForNotification();
  const absl::Status saved = training_->SaveAtEnd();
  // The server ends before the objects that its calls use.
  if (server_ != nullptr) {
    server_->Shutdown(std::max(deadline - SteadyNow(), absl::ZeroDuration()));
  }
  Join();
  return saved;
}

absl::StatusOr<std::unique_ptr<LearnerRole>> LearnerRole::Start(
    v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
    prometheus::Registry& registry) {
  MMZ_RETURN_IF_ERROR(CompleteLearnerConfig(*config.mutable_learner(), rank));
  MMZ_RETURN_IF_ERROR(CheckLearnerConfig(config, rank, *security));
  absl::StatusOr<ProgramSet> programs = LoadWorkloads(config.learner());
  if (!programs.ok()) return programs.status();
  auto impl = std::make_unique<Impl>(std::move(config), rank, std::move(security), registry,
                                     *std::move(programs));
  MMZ_RETURN_IF_ERROR(impl->Start());
  return absl::WrapUnique(new LearnerRole(std::move(impl)));
}

LearnerRole::LearnerRole(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LearnerRole::~LearnerRole() = default;
absl::Status LearnerRole::Stop(absl::Duration grace) { return impl_->Stop(grace); }
absl::Status LearnerRole::status() const { return impl_->status(); }
absl::Status LearnerRole::health() const { return impl_->health(); }
const std::string& LearnerRole::address() const { return impl_->address(); }
uint64_t LearnerRole::step() const { return impl_->step(); }
std::vector<std::string> LearnerRole::notes() const { return impl_->notes(); }

std::vector<PeerState> LearnerRole::peers() const { return impl_->peers(); }
std::vector<std::string> LearnerRole::TakeWarnings() { return impl_->TakeWarnings(); }

}  // namespace mallocmuzero
