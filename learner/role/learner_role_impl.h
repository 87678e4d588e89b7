// The class that implements learner_role.h.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_IMPL_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_IMPL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "learner/curriculum.h"
#include "learner/role/actor_book.h"
#include "learner/role/batch_source.h"
#include "learner/role/game_book.h"
#include "learner/role/group_watch.h"
#include "learner/role/learner_block.h"
#include "learner/role/learner_rates.h"
#include "learner/role/learner_role.h"
#include "learner/role/learner_service.h"
#include "learner/role/membership.h"
#include "learner/role/metrics.h"
#include "learner/role/scored_versions.h"
#include "learner/role/set_up.h"
#include "learner/role/training.h"
#include "learner/run_directory.h"
#include "learner/run_lock.h"
#include "replay/client/replay_sampler.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"
#include "rpc/server.h"

namespace mallocmuzero {

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
        versions_(Fingerprints(programs_), CandidateOptions(config_)),
        metrics_(registry),
        started_(SteadyNow()),
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
  absl::Status health() const { return DiskHealth(training_->figures(), SteadyNow()); }
  uint64_t step() const { return training_->figures().step; }
  std::vector<PeerState> peers() const;
  std::vector<std::string> notes() const { return membership_->notes(); }
  std::vector<std::string> TakeWarnings() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(warnings_, {});
  }

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
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_IMPL_H_
