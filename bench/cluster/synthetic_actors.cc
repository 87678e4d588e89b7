#include "bench/cluster/synthetic_actors.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
#include "actor/game_recorder.h"
#include "actor/role/assigned_programs.h"
#include "actor/role/learner_client.h"
#include "actor/role/play_block.h"
#include "actor/task_maker.h"
#include "base/percentile.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/thread_count.h"
#include "env/action.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "metrics/process_usage.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "rpc/security.h"

namespace mallocmuzero::bench {
namespace {

// The number of games of each program, which actors send again and again with new ids.
constexpr int kGamesOfProgram = 16;

// The number of latest reports from which percentiles are computed.
constexpr size_t kReportTimes = 4096;
constexpr size_t kClosers = 64;

// How long a thread sleeps when none of its actors has played.
constexpr absl::Duration kLook = absl::Milliseconds(1);

// A learner that has not been heard of for this time does not answer.
constexpr absl::Duration kConnectedFor = absl::Seconds(10);

// Makes a random game in which a quarter of the decisions have random search results.
v1::Trajectory MakeUpGame(const PlayedProgram& program, uint64_t seed) {
  Player player(PlayerKind::kRandom, seed);
  Random random(seed);
  player.StartGame();
  GameRecorder recorder(program, TrajectoryId(seed, 0, 0), v1::Trajectory::SELF_PLAY, 0);
  Game game(program.rules());
  recorder.Start(game);
  while (!game.finished()) {
    const Action action = player.Choose(game);
    if (random.Below(4) > 0) {
      recorder.Apply(game, action);
      continue;
    }
    float policy[kActionCount] = {};
    float sum = 0;
    for (int a = 0; a < kActionCount; ++a) {
      if (game.IsLegal(static_cast<Action>(a))) policy[a] = static_cast<float>(random.Unit());
      sum += policy[a];
    }
    for (float& share : policy) share = sum > 0 ? share / sum : 0;
    recorder.Apply(game, action, policy, NetworkValue(random.Unit()));
  }
  return std::move(recorder).Finish();
}

// The games of one assignment, which all actors send.
struct GamePool {
  uint64_t version = 0;
  std::vector<std::vector<v1::Trajectory>> games;  // by program
};

}  // namespace

class SyntheticActors::Impl {
 public:
  Impl(const v1::ClusterConfig& config, const SyntheticOptions& options,
       std::shared_ptr<const Security> security)
      : config_(config), options_(options), security_(std::move(security)) {
    const std::string hash =
        Sha256(absl::StrCat(getpid(), "/", absl::GetCurrentTimeNanos(), "/synthetic"));
    std::memcpy(&run_, hash.data(), sizeof(run_));
  }

  ~Impl() { Stop(absl::ZeroDuration()).IgnoreError(); }

  absl::Status Start();
  absl::Status Stop(absl::Duration grace);
  SyntheticStats stats() const;

 private:
  // A simulated actor. Three threads use it: the one that plays for it and the two of its client.
  struct Actor {
    uint32_t index = 0;
    std::unique_ptr<ReplayWriter> writer;
    absl::Time due;       // when its next game is due
    absl::Time reported;  // when the current report began; used by the client's reporter only

    absl::Mutex mutex;
    std::unique_ptr<LearnerClient> learner ABSL_GUARDED_BY(mutex);
    uint64_t games ABSL_GUARDED_BY(mutex) = 0;
    uint64_t decisions ABSL_GUARDED_BY(mutex) = 0;
    bool full ABSL_GUARDED_BY(mutex) = false;  // the last game had no room in the spool
    uint64_t step ABSL_GUARDED_BY(mutex) = 0;
    bool wants_weights ABSL_GUARDED_BY(mutex) = true;  // a round has ended since the last weights
    std::vector<double> weights ABSL_GUARDED_BY(mutex);
  };

  LearnerClientHooks Hooks(Actor& actor);
  v1::ActorReport Report(Actor& actor) const;
  absl::Status Assign(const v1::Assignment& assignment, const ProgramFiles& files);
  void PlayFor(uint32_t thread, uint32_t threads);
  static void Close(Actor& actor, absl::Time deadline);
  bool PlayGame(Actor& actor, const GamePool& pool, Random& random);
  std::shared_ptr<const GamePool> pool() const {
    const absl::MutexLock lock(&mutex_);
    return pool_;
  }

  const v1::ClusterConfig config_;
  const SyntheticOptions options_;
  const std::shared_ptr<const Security> security_;
  const uint64_t games_of_round_ = std::max<uint64_t>(
      1, uint64_t{config_.actor().games_in_flight()} * std::max(1U, config_.actor().threads()));
  uint64_t run_ = 0;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::thread> threads_;
  absl::Notification stop_;

  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool making_ ABSL_GUARDED_BY(mutex_) = false;  // a thread makes a pool for all
  std::shared_ptr<const GamePool> pool_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> report_ms_ ABSL_GUARDED_BY(mutex_);  // of the latest reports, as a ring
  size_t next_report_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status SyntheticActors::Impl::Start() {
  const uint32_t threads = ThreadCount(options_.threads);
  Random random(run_);
  const absl::Time start = SteadyNow();
  for (uint32_t a = 0; a < options_.actors; ++a) {
    auto actor = std::make_unique<Actor>();
    actor->index = a;
    // Spreads the first games over a second, since real actors are not synchronized either.
    actor->due = start + absl::Seconds(random.Unit());
    ReplayWriterOptions writer;
    writer.shards = ShardAddresses(config_);
    writer.security = security_;
    writer.spool_bytes = config_.actor().spool_bytes();
    writer.name = absl::StrCat("synthetic-", a);
    absl::StatusOr<std::unique_ptr<ReplayWriter>> started = ReplayWriter::Start(std::move(writer));
    if (!started.ok()) return started.status();
    actor->writer = *std::move(started);
    auto learner = std::make_unique<LearnerClient>(
        LearnerClientOptions{.address = config_.learner().address(),
                             .security = security_,
                             .seed = run_ + a,
                             .fetch_weights = options_.fetch_weights},
        Hooks(*actor));
    {
      const absl::MutexLock lock(&actor->mutex);
      actor->learner = std::move(learner);
    }
    actors_.push_back(std::move(actor));
  }
  for (uint32_t t = 0; t < threads; ++t) {
    threads_.emplace_back([this, t, threads] { PlayFor(t, threads); });
  }
  return absl::OkStatus();
}

LearnerClientHooks SyntheticActors::Impl::Hooks(Actor& actor) {
  return {
      .report = [this, &actor] { return Report(actor); },
      .reported =
          [this, &actor](const v1::ActorReport& /*report*/, const absl::Status& status,
                         const v1::ActorOrders& orders) {
            if (!status.ok() && !absl::IsDeadlineExceeded(status)) return;
            if (status.ok()) {
              const absl::MutexLock lock(&actor.mutex);
              actor.weights = {orders.program_weights().begin(), orders.program_weights().end()};
            }
            const double ms = absl::ToDoubleMilliseconds(SteadyNow() - actor.reported);
            const absl::MutexLock lock(&mutex_);
            if (report_ms_.size() < kReportTimes) {
              report_ms_.push_back(ms);
            } else {
              report_ms_[next_report_++ % kReportTimes] = ms;
            }
          },
      .assigned = [this](const v1::Assignment& assignment,
                         const ProgramFiles& files) { return Assign(assignment, files); },
      .wants_weights =
          [&actor] {
            const absl::MutexLock lock(&actor.mutex);
            return actor.wants_weights;
          },
      .weights =
          [&actor](const v1::CheckpointNotice& notice, const std::string& /*bytes*/) {
            const absl::MutexLock lock(&actor.mutex);
            actor.step = notice.step();
            actor.wants_weights = false;
            return absl::OkStatus();
          }};
}

v1::ActorReport SyntheticActors::Impl::Report(Actor& actor) const {
  v1::ActorReport report;
  report.set_actor(absl::StrCat("synthetic-", run_, "-", actor.index));
  report.set_rules_version(kGameRulesVersion);
  report.set_spooled_bytes(actor.writer->spooled_bytes());
  if (actor.writer->blocked()) {
    const PlayBlock block = SpoolBlock(*actor.writer);
    report.set_blocked_on(ToString(block).substr(0, 200));
    report.set_flow_control(block.flow_control);
  }
  report.set_rss_bytes(ResidentBytes());
  actor.reported = SteadyNow();
  const absl::MutexLock lock(&actor.mutex);
  report.set_games(actor.games);
  report.set_decisions(actor.decisions);
  report.set_network_step(actor.step);
  return report;
}

// Makes the pool of games of a new assignment. Only the first call for each version does the work.
absl::Status SyntheticActors::Impl::Assign(const v1::Assignment& assignment,
                                           const ProgramFiles& files) {
  {
    const absl::MutexLock lock(&mutex_);
    if (making_ || (pool_ != nullptr && pool_->version == assignment.version())) {
      return absl::OkStatus();
    }
    making_ = true;
  }
  const auto assigned = ReadAssignment(assignment, files);
  auto pool = std::make_shared<GamePool>();
  pool->version = assignment.version();
  for (size_t p = 0; assigned.ok() && p < (*assigned)->programs.size(); ++p) {
    std::vector<v1::Trajectory>& games = pool->games.emplace_back();
    for (int g = 0; g < kGamesOfProgram; ++g) {
      games.push_back(MakeUpGame((*assigned)->programs[p], run_ + g));
    }
  }
  const absl::MutexLock lock(&mutex_);
  making_ = false;
  if (!assigned.ok()) return assigned.status();
  pool_ = std::move(pool);
  return absl::OkStatus();
}

// Plays for the actors with index % threads == thread.
void SyntheticActors::Impl::PlayFor(uint32_t thread, uint32_t threads) {
  Random random(run_ ^ (thread + 1));
  const absl::Duration between = options_.games_per_second > 0
                                     ? absl::Seconds(1 / options_.games_per_second)
                                     : absl::ZeroDuration();
  while (!stop_.HasBeenNotified()) {
    bool played = false;
    const std::shared_ptr<const GamePool> games = pool();
    const absl::Time now = SteadyNow();
    for (size_t a = thread; games != nullptr && a < actors_.size(); a += threads) {
      Actor& actor = *actors_[a];
      if (now < actor.due || stop_.HasBeenNotified()) continue;
      // A late thread makes up for the games of a second. A game without room is left out.
      actor.due = std::max(actor.due + between, now - absl::Seconds(1));
      played = PlayGame(actor, *games, random) || played;
    }
    if (!played) stop_.WaitForNotificationWithTimeout(kLook);
  }
}

bool SyntheticActors::Impl::PlayGame(Actor& actor, const GamePool& pool, Random& random) {
  std::vector<double> weights;
  uint64_t number = 0;
  {
    const absl::MutexLock lock(&actor.mutex);
    weights = actor.weights;
    number = actor.games;
  }
  const std::vector<v1::Trajectory>& games =
      pool.games[DrawProgram(weights, pool.games.size(), random)];
  v1::Trajectory game = games[random.Below(games.size())];
  game.set_id(TrajectoryId(run_, actor.index, number));
  // Write would block, and with it all other actors of this thread.
  if (actor.writer->spooled_bytes() + game.ByteSizeLong() > config_.actor().spool_bytes()) {
    const absl::MutexLock lock(&actor.mutex);
    actor.full = true;
    return false;
  }
  if (!actor.writer->Write(game)) return false;
  const absl::MutexLock lock(&actor.mutex);
  actor.full = false;
  // A real actor takes newer weights between two rounds.
  if (++actor.games % games_of_round_ == 0) actor.wants_weights = true;
  actor.decisions += game.actions().size();
  return true;
}

absl::Status SyntheticActors::Impl::Stop(absl::Duration grace) {
  {
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(stopped_, true)) return absl::OkStatus();
  }
  const absl::Time deadline = SteadyNow() + grace;
  stop_.Notify();
  for (std::thread& thread : threads_) thread.join();
  // Many threads close actors in parallel: each takes a moment, and there may be thousands.
  std::atomic<size_t> next = 0;
  std::vector<std::thread> closers;
  for (size_t t = 0; t < std::min(actors_.size(), kClosers); ++t) {
    closers.emplace_back([&] {
      for (size_t a = next++; a < actors_.size(); a = next++) Close(*actors_[a], deadline);
    });
  }
  for (std::thread& closer : closers) closer.join();
  return absl::OkStatus();
}

// Closes an actor. Games that cannot be delivered until `deadline` are lost.
void SyntheticActors::Impl::Close(Actor& actor, absl::Time deadline) {
  actor.writer->Close(std::max(deadline - SteadyNow(), absl::ZeroDuration())).IgnoreError();
  std::unique_ptr<LearnerClient> learner;
  const absl::MutexLock lock(&actor.mutex);
  learner = std::move(actor.learner);
}

SyntheticStats SyntheticActors::Impl::stats() const {
  SyntheticStats all;
  const absl::Time now = SteadyNow();
  for (const auto& actor : actors_) {
    all.acknowledged += actor->writer->acknowledged();
    all.spooled_bytes += actor->writer->spooled_bytes();
    const absl::MutexLock lock(&actor->mutex);
    if (actor->full) ++all.blocked;
    if (actor->learner != nullptr) {
      const LearnerClientFigures learner = actor->learner->figures();
      all.reports += learner.reports;
      all.failed_reports += learner.failed_reports;
      all.versions += learner.notices;
      all.fetched_bytes += learner.fetched_bytes;
      if (now - learner.last_contact < kConnectedFor) ++all.connected;
      if (!learner.last_error.empty()) all.last_error = learner.last_error;
    }
    all.games += actor->games;
    all.decisions += actor->decisions;
  }
  const absl::MutexLock lock(&mutex_);
  all.report_p50_ms = Percentile(report_ms_, 0.5);
  all.report_p99_ms = Percentile(report_ms_, 0.99);
  return all;
}

absl::StatusOr<std::unique_ptr<SyntheticActors>> SyntheticActors::Start(
    const v1::ClusterConfig& config, const SyntheticOptions& options,
    std::shared_ptr<const Security> security) {
  if (options.actors == 0) {
    return absl::InvalidArgumentError("synthetic actors: 1 or more expected");
  }
  if (!(options.games_per_second >= 0)) {
    return absl::InvalidArgumentError("games_per_second: 0 or more expected");
  }
  auto impl = std::make_unique<Impl>(config, options, std::move(security));
  MMZ_RETURN_IF_ERROR(impl->Start());
  return absl::WrapUnique(new SyntheticActors(std::move(impl)));
}

SyntheticActors::SyntheticActors(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SyntheticActors::~SyntheticActors() = default;
absl::Status SyntheticActors::Stop(absl::Duration grace) { return impl_->Stop(grace); }
SyntheticStats SyntheticActors::stats() const { return impl_->stats(); }

}  // namespace mallocmuzero::bench
