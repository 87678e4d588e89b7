#include "learner/role/learner_role.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "env/program_files.h"
#include "learner/curriculum.h"
#include "learner/role/actor_book.h"
#include "learner/role/batch_source.h"
#include "learner/role/game_book.h"
#include "learner/role/group_watch.h"
#include "learner/role/learner_block.h"
#include "learner/role/learner_rates.h"
#include "learner/role/learner_service.h"
#include "learner/role/membership.h"
#include "learner/role/metrics.h"
#include "learner/role/scored_versions.h"
#include "learner/role/set_up.h"
#include "learner/role/training.h"
#include "learner/run_directory.h"
#include "learner/run_lock.h"
#include "metrics/process_usage.h"
#include "replay/client/replay_sampler.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"
#include "rpc/server.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);

// The most programs of which one answer asks an actor for demonstrations.
constexpr size_t kMostDemonstrations = 16;

}  // namespace

class LearnerRole::Impl {
 public:
  Impl(v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
       prometheus::Registry& registry, ProgramSet programs)
      : config_(std::move(config)),
        rank_(rank),
        security_(std::move(security)),
        registry_(registry),
        programs_(std::move(programs)),
        actors_(Fingerprints(programs_)),
        versions_(Fingerprints(programs_)),
        metrics_(registry),
        started_(absl::Now()),
        weights_(ProgramWeights(std::vector<ProgramStanding>(programs_.size()))) {}

  ~Impl() {
    RequestStop();
    if (service_ != nullptr) service_->EndStreams();
    server_ = nullptr;
    Join();
  }

  absl::Status Start();
  absl::Status Stop(absl::Duration grace);

  absl::Status status() const {
    const absl::MutexLock lock(&mutex_);
    return status_;
  }
  const std::string& address() const { return address_; }
  absl::Status health() const { return DiskHealth(training_->figures(), absl::Now()); }
  uint64_t step() const { return training_->figures().step; }
  std::vector<PeerState> peers() const;
  std::vector<std::string> notes() const { return membership_->notes(); }

 private:
  absl::Status StartTraining();
  absl::Status OpenRun(std::optional<RunDirectory>& directory);
  absl::Status StartSampler();
  absl::Status StartServing();
  void RequestStop();
  void Join();
  void Tick();
  LearnerFigures Figures();
  std::vector<double> Weights();
  absl::StatusOr<v1::ActorOrders> AcceptReport(const v1::ActorReport& report);
  v1::RoleStatus Describe() const;
  LearnerBlock Blocked(const TrainingFigures& training) const;

  const v1::ClusterConfig config_;
  const uint32_t rank_;
  const std::shared_ptr<const Security> security_;
  prometheus::Registry& registry_;
  const ProgramSet programs_;
  ActorBook actors_;
  ScoredVersions versions_;
  LearnerMetrics metrics_;
  const absl::Time started_;
  std::optional<RunLock> run_lock_;  // held by process 0 only
  std::unique_ptr<GameBook> book_;
  std::unique_ptr<LearnerService> service_;
  std::unique_ptr<RoleStatusService> status_service_;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<GroupWatch> watch_;  // if there are several processes
  std::unique_ptr<Training> training_;
  std::unique_ptr<ReplaySampler> sampler_;
  std::unique_ptr<BatchSource> batches_;
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  absl::Notification stop_;
  absl::Notification trained_;  // the training thread has ended
  std::thread trainer_;
  std::thread ticker_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> weights_ ABSL_GUARDED_BY(mutex_);  // the share of games of each program
  uint64_t reports_ ABSL_GUARDED_BY(mutex_) = 0;
  LearnerRates rates_ ABSL_GUARDED_BY(mutex_);
};

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
            if (config_.learner().scored_checkpoints() > 0) versions_.Publish(step, bytes);
            service_->Publish(step, std::move(bytes));
          },
      .prioritize = [this](auto drawn, auto errors) { sampler_->UpdatePriorities(drawn, errors); },
      .played =
          [this] {
            const ActorTotals totals = actors_.Totals(0, absl::Now());
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
  options.prefetch = training_->rows();
  options.seed = learner.seed() + rank_;
  options.registry = &registry_;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> sampler = ReplaySampler::Start(std::move(options));
  if (!sampler.ok()) return sampler.status();
  sampler_ = *std::move(sampler);
  batches_ = std::make_unique<BatchSource>(
      BatchSourceOptions{.learner = learner.options(),
                         .rows = training_->rows(),
                         .importance_exponent = learner.importance_exponent(),
                         .queued_batches = learner.prefetched_batches(),
                         .threads = learner.threads(),
                         .best_games = MostBestGames(config_)},
      programs_, *book_,
      [this](v1::Selection selection, size_t count, absl::Duration timeout) {
        return sampler_->Draw(selection, count, timeout);
      },
      [this] { return sampler_->positions(); });
  return absl::OkStatus();
}

absl::Status LearnerRole::Impl::StartServing() {
  service_ = std::make_unique<LearnerService>(
      security_, [this](const v1::ActorReport& report) { return AcceptReport(report); });
  status_service_ = std::make_unique<RoleStatusService>(security_, [this] { return Describe(); });
  absl::StatusOr<RoleAssignment> assignment = MakeAssignment(config_.learner(), programs_);
  if (!assignment.ok()) return assignment.status();
  service_->SetAssignment(std::move(assignment->assignment), std::move(assignment->files));
  training_->Publish();
  std::vector<grpc::Service*> services = {service_.get(), status_service_.get(), membership_.get()};
  if (watch_ != nullptr) services.push_back(watch_.get());
  absl::StatusOr<std::unique_ptr<RpcServer>> server =
      RpcServer::Start({.address = config_.learner().listen_address(),
                        .security = security_,
                        .services = std::move(services),
                        .registry = &registry_});
  if (!server.ok()) {
    return {server.status().code(),
            absl::StrCat("learner.listen_address: ", server.status().message())};
  }
  server_ = *std::move(server);
  address_ = server_->address();
  return absl::OkStatus();
}

std::vector<PeerState> LearnerRole::Impl::peers() const {
  std::vector<PeerState> peers = sampler_->peers();
  if (watch_ != nullptr) {
    peers.push_back(
        {.name = "the group of learner processes", .trouble = training_->figures().group_error});
  }
  return peers;
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
  const absl::Time deadline = absl::Now() + grace;
  RequestStop();
  if (service_ != nullptr) service_->EndStreams();
  sampler_->Stop();
  trained_.WaitForNotification();
  const absl::Status saved = training_->SaveAtEnd();
  // The server ends before the objects that its calls use.
  if (server_ != nullptr) {
    server_->Shutdown(std::max(deadline - absl::Now(), absl::ZeroDuration()));
  }
  Join();
  return saved;
}

std::vector<double> LearnerRole::Impl::Weights() {
  std::vector<ProgramStanding> standings = book_->Standings();
  const std::vector<double> means = actors_.MeanReturns();
  const std::vector<double> best = actors_.BestReturns();
  for (size_t p = 0; p < standings.size(); ++p) {
    standings[p].mean_return = means[p];
    if (!std::isnan(best[p])) {
      standings[p].best_return = std::max(standings[p].best_return, best[p]);
    }
  }
  return ProgramWeights(standings);
}

LearnerFigures LearnerRole::Impl::Figures() {
  LearnerFigures figures;
  figures.training = training_->figures();
  figures.program_weights = Weights();
  figures.programs = book_->Describe();
  const std::vector<double> means = actors_.MeanReturns();
  for (size_t p = 0; p < means.size(); ++p) {
    if (!std::isnan(means[p])) figures.programs[p].set_mean_return(means[p]);
  }
  if (service_ != nullptr) {
    figures.published_step = service_->published_step();
    figures.fetched_bytes = service_->fetched_bytes();
    figures.watchers = service_->watchers();
  }
  figures.actors = actors_.Totals(figures.published_step, absl::Now());
  figures.prepared_batches = batches_->depth();
  figures.draw_seconds = batches_->draw_seconds();
  figures.make_seconds = batches_->make_seconds();
  figures.refused_rows = batches_->refused_rows();
  figures.games_seen = book_->taken();
  figures.blocked_on = Blocked(figures.training).on;
  return figures;
}

void LearnerRole::Impl::Tick() {
  if (rank_ > 0) membership_->Follow();
  const LearnerFigures figures = Figures();
  metrics_.Update(figures);
  const absl::Time now = absl::Now();
  const absl::MutexLock lock(&mutex_);
  weights_ = figures.program_weights;
  rates_.Add(figures.training, figures.actors, now);
}

absl::StatusOr<v1::ActorOrders> LearnerRole::Impl::AcceptReport(const v1::ActorReport& report) {
  const absl::Time now = absl::Now();
  MMZ_RETURN_IF_ERROR(actors_.Report(report, now));
  book_->AcceptReport(report, service_->published_step(), now);
  versions_.AcceptReport(report);
  v1::ActorOrders orders;
  membership_->AddTo(orders, report);
  const absl::MutexLock lock(&mutex_);
  if (config_.learner().demonstration_seconds() > 0) {
    // Each report gets another beginning, so that actors demonstrate different programs.
    const auto wanted = book_->Undemonstrated(reports_++, kMostDemonstrations, now);
    orders.mutable_demonstrate()->Add(wanted.begin(), wanted.end());
  }
  orders.mutable_program_weights()->Add(weights_.begin(), weights_.end());
  return orders;
}

LearnerBlock LearnerRole::Impl::Blocked(const TrainingFigures& training) const {
  return BlockOf({.training = training,
                  .started = started_,
                  .processes = config_.learner().processes(),
                  .replay = sampler_->blocked_on(),
                  .refusal = batches_->last_refusal(),
                  .prepared_batches = batches_->depth()},
                 absl::Now());
}

v1::RoleStatus LearnerRole::Impl::Describe() const {
  const absl::Time now = absl::Now();
  const TrainingFigures training = training_->figures();
  const uint64_t published = service_->published_step();
  v1::RoleStatus status;
  status.set_role(v1::RoleStatus::LEARNER);
  status.set_name(config_.learner().name());
  // The configured address, because calls arrive before address_ is set.
  status.set_address(config_.learner().address());
  status.set_version(std::string(BuildVersion()));
  status.set_uptime_seconds(absl::ToDoubleSeconds(now - started_));
  status.set_rss_bytes(ResidentBytes());
  status.set_blocked_on(Blocked(training).why);
  status.set_trouble(membership_->trouble());
  for (v1::RoleStatus& actor : actors_.Describe(published, now)) {
    *status.add_peers() = std::move(actor);
  }
  auto& figures = *status.mutable_figures();
  figures["step"] = static_cast<double>(training.step);
  figures["published_step"] = static_cast<double>(published);
  figures["prepared_batches"] = static_cast<double>(batches_->depth());
  figures["refused_rows"] = static_cast<double>(batches_->refused_rows());
  figures["games_seen"] = static_cast<double>(book_->taken());
  figures["actors"] = status.peers_size();
  figures["loss"] = training.losses.total();
  if (training.last_save > absl::InfinitePast()) {
    figures["seconds_since_save"] = absl::ToDoubleSeconds(now - training.last_save);
  }
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, rate] : rates_.Figures()) figures[name] = rate;
  return status;
}

absl::StatusOr<std::unique_ptr<LearnerRole>> LearnerRole::Start(
    v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
    prometheus::Registry& registry) {
  if (config.learner().listen_address().empty()) {
    config.mutable_learner()->set_listen_address(config.learner().address());
  }
  MMZ_RETURN_IF_ERROR(TakeNetworkOfCheckpoint(*config.mutable_learner()));
  MMZ_RETURN_IF_ERROR(CheckLearnerConfig(config, rank, *security));
  const std::vector<std::string> workloads(config.learner().workloads().begin(),
                                           config.learner().workloads().end());
  absl::StatusOr<ProgramSet> programs = LoadPrograms(workloads);
  if (!programs.ok()) {
    return absl::Status(programs.status().code(),
                        absl::StrCat("learner.workloads: ", programs.status().message()));
  }
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

}  // namespace mallocmuzero
