#include "actor/role/actor_role.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
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
#include "actor/role/actor_name.h"
#include "actor/role/actor_state.h"
#include "actor/role/assigned_programs.h"
#include "actor/role/candidate_games.h"
#include "actor/role/incumbent_games.h"
#include "actor/role/learner_client.h"
#include "actor/role/metrics.h"
#include "actor/role/play_block.h"
#include "actor/role/round_player.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/thread_count.h"
#include "env/program_rules.h"
#include "metrics/process_usage.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_roster.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);

// The part of a stop's grace that is reserved for writing the spool to the disk.
constexpr absl::Duration kForDisk = absl::Seconds(1);

// The most time of a stop for telling the learner that the actor leaves.
constexpr absl::Duration kForGoodbye = absl::Milliseconds(300);

// InvalidArgument, naming the field, if this machine does not have the device.
absl::StatusOr<Device> ReadDevice(const v1::ClusterConfig& config, bool reanalyse) {
  const std::string& name = reanalyse ? config.reanalyse().device() : config.actor().device();
  const absl::string_view role = reanalyse ? "reanalyse" : "actor";
  if (name.empty()) return Device::kCpu;
  absl::StatusOr<Device> device = ParseDevice(name);
  const absl::Status found = device.ok() ? CheckDevice(*device) : device.status();
  if (!found.ok()) return absl::InvalidArgumentError(absl::StrCat(role, ".", found.message()));
  return device;
}

// The networks of a checkpoint file that the learner has sent.
absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> ReadNetwork(const std::string& bytes,
                                                                   Device device) {
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(bytes, "the learner's weights");
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
  if (!network.ok()) return network.status();
  return (*network)->Snapshot({.device = device});
}

}  // namespace

class ActorRole::Impl {
 public:
  Impl(const v1::ClusterConfig& config, uint32_t index, bool reanalyse,
       std::shared_ptr<const Security> security, prometheus::Registry& registry)
      : config_(config),
        index_(index),
        reanalyse_(reanalyse),
        security_(std::move(security)),
        registry_(registry),
        name_(ActorName(index, reanalyse)),
        run_(DrawRun(name_, config.actor().seed())),
        threads_(ThreadCount(reanalyse ? config.reanalyse().threads() : config.actor().threads())),
        state_(config.actor().max_policy_lag()),
        candidate_(run_),
        metrics_(registry),
        players_left_(threads_) {}

  ~Impl() {
    if (writer_ != nullptr) Stop(absl::ZeroDuration()).IgnoreError();
  }

  absl::Status Start();
  absl::Status Stop(absl::Duration grace);

  absl::Status status() const {
    MMZ_RETURN_IF_ERROR(Audit());
    const absl::MutexLock lock(&mutex_);
    return status_;
  }
  PlayBlock blocked() const {
    // A thread that waits in Write for room in the spool counts as blocked even if the spool has a
    // little room.
    return writer_->blocked() ? SpoolBlock(*writer_) : state_.blocked();
  }
  absl::Status ready() const {
    const PlayBlock block = blocked();
    if (block.on == PlayBlock::On::kNothing || block.flow_control) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("waits for: ", ToString(block)));
  }
  size_t found_in_spool() const { return writer_->found_in_spool(); }
  size_t left_in_spool() const { return writer_->left_in_spool(); }
  std::vector<PeerState> peers() const;
  uint64_t games() const { return state_.figures().stats.games; }
  uint64_t network_step() const { return state_.network_step(); }

 private:
  uint32_t games_in_flight() const {
    return reanalyse_ ? config_.reanalyse().games_in_flight() : config_.actor().games_in_flight();
  }

  // An audit that lacks the id of a game would not notice that the game is lost.
  absl::Status Audit() const { return StatusAt("actor.audit_dir", writer_->audit()); }

  absl::Status StartWriter();
  absl::Status StartSampler();
  LearnerClientHooks Hooks();
  v1::ActorReport Report();
  void TakeShards(const v1::ShardRoster& roster);
  absl::Status TakeWeights(const v1::CheckpointNotice& notice, const std::string& bytes);
  absl::Status TakeCandidate(const v1::CheckpointNotice& notice, const std::string& bytes);
  void PlayOn(uint32_t thread);
  void Tick();

  const v1::ClusterConfig config_;
  const uint32_t index_;
  const bool reanalyse_;
  const std::shared_ptr<const Security> security_;
  prometheus::Registry& registry_;
  const std::string name_;
  const uint64_t run_;
  const uint32_t threads_;
  Device device_ = Device::kCpu;  // that evaluates the networks
  ActorState state_;
  CandidateGames candidate_;
  IncumbentGames incumbents_;
  ActorMetrics metrics_;
  std::unique_ptr<ReplayWriter> writer_;
  std::unique_ptr<ReplaySampler> sampler_;
  std::atomic<uint64_t> shards_fingerprint_ = 0;  // of the learner's list; 0: none yet
  std::unique_ptr<LearnerClient> learner_;
  absl::Notification stop_;
  absl::Notification played_;  // notified when all player threads have ended
  std::vector<std::thread> players_;
  std::thread ticker_;

  mutable absl::Mutex mutex_;
  int players_left_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status ActorRole::Impl::Start() {
  if (config_.replay().empty()) {
    return absl::InvalidArgumentError("replay: one shard or more expected");
  }
  if (games_in_flight() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(reanalyse_ ? "reanalyse" : "actor", ".games_in_flight: 1 or more expected"));
  }
  const absl::StatusOr<Device> device = ReadDevice(config_, reanalyse_);
  if (!device.ok()) return device.status();
  device_ = *device;
  MMZ_RETURN_IF_ERROR(StartWriter());
  if (reanalyse_) MMZ_RETURN_IF_ERROR(StartSampler());
  learner_ = std::make_unique<LearnerClient>(
      LearnerClientOptions{
          .address = config_.learner().address(), .security = security_, .seed = run_},
      Hooks());
  for (uint32_t t = 0; t < threads_; ++t) {
    state_.SetBlocked(t, {.on = PlayBlock::On::kLearner});
    players_.emplace_back([this, t] { PlayOn(t); });
  }
  ticker_ = std::thread([this] {
    do Tick();
    while (!stop_.WaitForNotificationWithTimeout(kTick));
  });
  return absl::OkStatus();
}

absl::Status ActorRole::Impl::StartWriter() {
  ReplayWriterOptions options;
  options.shards = ShardAddresses(config_);
  options.awaits_roster = true;
  options.security = security_;
  options.spool_bytes = config_.actor().spool_bytes();
  // A reanalyser needs no spool file: if its results are lost, the stored games stay as they were.
  if (!reanalyse_) options.spool_dir = config_.actor().spool_dir();
  options.name = absl::StrCat(reanalyse_ ? "reanalyse-" : "actor-", index_);
  if (!reanalyse_ && !config_.actor().audit_dir().empty()) {
    options.acknowledged_log = absl::StrCat(config_.actor().audit_dir(), "/", options.name, "-",
                                            absl::Hex(run_, absl::kZeroPad16), ".ids");
  }
  options.registry = &registry_;
  absl::StatusOr<std::unique_ptr<ReplayWriter>> writer = ReplayWriter::Start(std::move(options));
  if (absl::IsFailedPrecondition(writer.status())) {
    return absl::InvalidArgumentError(absl::StrCat("--index: ", index_, ": ",
                                                   writer.status().message(),
                                                   "; an index of its own for each expected"));
  }
  if (!writer.ok()) {
    return {writer.status().code(), absl::StrCat("actor: ", writer.status().message())};
  }
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status ActorRole::Impl::StartSampler() {
  ReplaySamplerOptions options;
  options.shards = ShardAddresses(config_);
  options.security = security_;
  options.prefetch = config_.reanalyse().games_in_flight();
  options.unlimited = true;
  options.seed = run_;
  options.registry = &registry_;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> sampler = ReplaySampler::Start(std::move(options));
  if (!sampler.ok()) return sampler.status();
  sampler_ = *std::move(sampler);
  return absl::OkStatus();
}

LearnerClientHooks ActorRole::Impl::Hooks() {
  return {.report = [this] { return Report(); },
          .reported =
              [this](const v1::ActorReport& report, const absl::Status& status,
                     const v1::ActorOrders& orders) {
                if (status.ok()) {
                  state_.SetOrders(orders, SteadyNow());
                  candidate_.SetOrders(orders);
                  incumbents_.SetOrders(orders);
                  if (orders.has_shards()) TakeShards(orders.shards());
                } else {
                  state_.PutBackOutcomes(report);
                }
              },
          .assigned =
              [this](const v1::Assignment& assignment, const ProgramFiles& files) {
                auto assigned = ReadAssignment(assignment, files);
                if (!assigned.ok()) return assigned.status();
                incumbents_.SetAssigned(*assigned);
                state_.SetAssigned(*std::move(assigned));
                return absl::OkStatus();
              },
          .wants_weights = [this] { return state_.WantsNetwork(); },
          .weights = [this](const v1::CheckpointNotice& notice,
                            const std::string& bytes) { return TakeWeights(notice, bytes); },
          .wanted_candidate = [this] { return candidate_.Wanted(); },
          .candidate_weights =
              [this](const v1::CheckpointNotice& notice, const std::string& bytes) {
                return TakeCandidate(notice, bytes);
              }};
}

v1::ActorReport ActorRole::Impl::Report() {
  const PlayFigures figures = state_.figures();
  v1::ActorReport report;
  report.set_actor(name_);
  report.set_rules_version(kGameRulesVersion);
  report.set_reanalyse(reanalyse_);
  report.set_network_step(state_.network_step());
  report.set_shards_fingerprint(shards_fingerprint_);
  report.set_games(figures.stats.games);
  report.set_decisions(figures.stats.decisions);
  report.set_simulations(figures.stats.simulations);
  report.set_spooled_bytes(writer_->spooled_bytes());
  const PlayBlock block = blocked();
  report.set_blocked_on(ForReport(ToString(block)));
  report.set_flow_control(block.flow_control);
  report.set_trouble(ForReport(writer_->trouble()));
  report.set_rss_bytes(ResidentBytes());
  state_.TakeOutcomes(report);
  candidate_.Describe(report);
  incumbents_.Describe(report);
  return report;
}

// Follows the learner's list of shards, which may be newer or older than the configuration.
void ActorRole::Impl::TakeShards(const v1::ShardRoster& roster) {
  if (!CheckRoster(roster).ok()) return;
  writer_->SetRoster(roster);
  if (sampler_ != nullptr) sampler_->SetShards(ActiveShards(roster));
  shards_fingerprint_ = RosterFingerprint(roster);
}

absl::Status ActorRole::Impl::TakeWeights(const v1::CheckpointNotice& notice,
                                          const std::string& bytes) {
  absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> network = ReadNetwork(bytes, device_);
  if (!network.ok()) return network.status();
  candidate_.SetNetwork(*network, notice);
  state_.SetNetwork(*std::move(network), notice.step());
  return absl::OkStatus();
}

absl::Status ActorRole::Impl::TakeCandidate(const v1::CheckpointNotice& notice,
                                            const std::string& bytes) {
  absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> network = ReadNetwork(bytes, device_);
  if (!network.ok()) return network.status();
  candidate_.SetNetwork(*std::move(network), notice);
  return absl::OkStatus();
}

void ActorRole::Impl::PlayOn(uint32_t thread) {
  // One round of games of each thread may be on its way while the thread plays the next.
  RoundPlayer player({.thread = thread,
                      .games = games_in_flight(),
                      .run = run_,
                      .spool_bytes = config_.actor().spool_bytes(),
                      .most_held_back = uint64_t{games_in_flight()} * threads_},
                     {.state = state_,
                      .candidate = candidate_,
                      .incumbents = incumbents_,
                      .writer = *writer_,
                      .sampler = sampler_.get()});
  const absl::Status status = player.Run(stop_);
  const absl::MutexLock lock(&mutex_);
  if (!status.ok()) status_ = status;
  if (--players_left_ == 0) played_.Notify();
}

std::vector<PeerState> ActorRole::Impl::peers() const {
  std::vector<PeerState> peers = sampler_ == nullptr ? writer_->peers() : sampler_->peers();
  peers.push_back({.name = absl::StrCat("the learner on ", config_.learner().address()),
                   .trouble = learner_->figures().trouble});
  return peers;
}

void ActorRole::Impl::Tick() {
  const LearnerClientFigures learner = learner_->figures();
  state_.SetLearnerTrouble(learner.trouble);
  metrics_.Update({.play = state_.figures(),
                   .learner = learner,
                   .network_step = state_.network_step(),
                   .policy_lag = state_.policy_lag(),
                   .blocked_on = blocked().on});
}

absl::Status ActorRole::Impl::Stop(absl::Duration grace) {
  {
    const absl::MutexLock lock(&mutex_);
    if (stopped_) return absl::OkStatus();
    stopped_ = true;
  }
  const absl::Time deadline = SteadyNow() + grace;
  stop_.Notify();
  if (sampler_ != nullptr) sampler_->Stop();
  // Lets threads hand finished games to the writer. They cannot if it is full, so the wait is
  // short.
  if (!players_.empty()) played_.WaitForNotificationWithTimeout(grace / 4);
  const absl::Status closed =
      writer_->Close(std::max(deadline - SteadyNow() - kForDisk, absl::ZeroDuration()));
  for (std::thread& player : players_) player.join();
  if (ticker_.joinable()) ticker_.join();
  // It stays, because peers() may be called.
  if (learner_ != nullptr) {
    learner_->Leave(std::clamp(deadline - SteadyNow(), absl::ZeroDuration(), kForGoodbye));
  }
  // A reanalyser may lose its results: the stored games stay as they were.
  if (reanalyse_) return absl::OkStatus();
  return closed.ok() ? Audit() : closed;
}

absl::StatusOr<std::unique_ptr<ActorRole>> ActorRole::Start(
    const v1::ClusterConfig& config, uint32_t index, bool reanalyse,
    std::shared_ptr<const Security> security, prometheus::Registry& registry) {
  auto impl = std::make_unique<Impl>(config, index, reanalyse, std::move(security), registry);
  MMZ_RETURN_IF_ERROR(impl->Start());
  return absl::WrapUnique(new ActorRole(std::move(impl)));
}

ActorRole::ActorRole(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ActorRole::~ActorRole() = default;
absl::Status ActorRole::Stop(absl::Duration grace) { return impl_->Stop(grace); }
absl::Status ActorRole::status() const { return impl_->status(); }
size_t ActorRole::found_in_spool() const { return impl_->found_in_spool(); }
size_t ActorRole::left_in_spool() const { return impl_->left_in_spool(); }
std::vector<PeerState> ActorRole::peers() const { return impl_->peers(); }
PlayBlock ActorRole::blocked() const { return impl_->blocked(); }
absl::Status ActorRole::ready() const { return impl_->ready(); }
uint64_t ActorRole::games() const { return impl_->games(); }
uint64_t ActorRole::network_step() const { return impl_->network_step(); }

}  // namespace mallocmuzero
