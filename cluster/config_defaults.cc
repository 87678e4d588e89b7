#include "cluster/config_defaults.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "mallocmuzero/v1/train.pb.h"
#include "train/train_config.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kBytesPerMebibyte = 1 << 20;

// The preset "tiny" is part of this build, so value() cannot fail.
v1::TrainConfig Training() { return DefaultTrainConfig("tiny").value(); }

}  // namespace

v1::LearnerRole DefaultLearnerRole() {
  const v1::TrainConfig train = Training();
  v1::LearnerRole learner;
  learner.set_name("learner");
  learner.set_address("127.0.0.1:7400");
  learner.set_run_dir("run");
  *learner.mutable_network() = train.network();
  *learner.mutable_options() = train.learner();
  *learner.mutable_search() = train.search();
  learner.set_explored_decisions(train.self_play().explored_decisions());
  learner.set_searched_share(train.self_play().searched_share());
  learner.set_window_share(train.self_play().window_share());
  learner.set_evaluated_share(0.01F);
  learner.set_importance_exponent(train.replay().importance_exponent());
  learner.set_publish_updates(20);
  learner.set_checkpoint_seconds(60);
  learner.set_processes(1);
  learner.set_group_timeout_seconds(60);
  learner.set_prefetched_batches(4);
  learner.set_scored_checkpoints(20);
  learner.set_scored_checkpoint_bytes(1024 * kBytesPerMebibyte);
  learner.set_threads(1);
  return learner;
}

v1::ActorRole DefaultActorRole() {
  v1::ActorRole actor;
  actor.set_count(1);
  actor.set_threads(1);
  actor.set_games_in_flight(32);
  actor.set_spool_bytes(64 * kBytesPerMebibyte);
  actor.set_spool_dir("spool");
  actor.set_max_policy_lag(1000);
  return actor;
}

v1::ReanalyseRole DefaultReanalyseRole() {
  v1::ReanalyseRole reanalyse;
  reanalyse.set_threads(1);
  reanalyse.set_games_in_flight(32);
  return reanalyse;
}

v1::ReplayShard DefaultReplayShard(const std::string& name, const v1::LearnerOptions& options) {
  const v1::ReplayOptions replay = Training().replay();
  v1::ReplayShard shard;
  shard.set_mode(v1::ReplayShard::DURABLE);
  shard.set_data_dir(absl::StrCat("replay/", name));
  shard.set_max_positions(replay.max_decisions());
  shard.set_max_bytes(replay.max_bytes());
  shard.set_eviction(v1::ReplayShard::OLDEST_FIRST);
  shard.set_best_games(replay.best_games());
  shard.set_priority_exponent(replay.priority_exponent());
  v1::RateLimit& limit = *shard.mutable_rate_limit();
  limit.set_samples_per_insert(options.samples_per_insert());
  limit.set_min_positions(1000);
  // Several batches of slack for either side, so that neither waits for single games of the other.
  limit.set_error_buffer(16.0 * options.batch_size() * (1 + options.samples_per_insert()));
  shard.set_remember_evicted_seconds(24 * 3600);
  shard.set_remember_evicted_bytes(1024 * kBytesPerMebibyte);
  shard.set_cache_bytes(64 * kBytesPerMebibyte);
  shard.set_copies(3);
  shard.set_copy_bytes(1024 * kBytesPerMebibyte);
  return shard;
}

}  // namespace mallocmuzero
