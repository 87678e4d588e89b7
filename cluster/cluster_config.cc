#include "cluster/cluster_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "cluster/config_checks.h"
#include "cluster/config_defaults.h"
#include "cluster/config_folder.h"
#include "cluster/config_mistakes.h"
#include "cluster/config_text.h"

namespace mallocmuzero {
namespace {

// The largest file. Real ones have at most a few hundred lines.
constexpr size_t kMostTextBytes = 1 << 20;

void FillIn(v1::ClusterConfig& config, const ConfigSection& root) {
  root.Nested("learner").FillIn(DefaultLearnerRole());
  const ConfigSection actor = root.Nested("actor");
  actor.FillIn(DefaultActorRole());
  if (!actor.Given("expected")) config.mutable_actor()->set_expected(config.actor().count());
  root.Nested("reanalyse").FillIn(DefaultReanalyseRole());
  if (config.replay().empty()) {
    v1::ReplayShard& shard = *config.add_replay();
    shard = DefaultReplayShard(kDefaultShardName, config.learner().options());
    shard.set_name(kDefaultShardName);
    shard.set_address(kDefaultShardAddress);
  }
  for (int i = 0; i < config.replay_size(); ++i) {
    root.Nested("replay", i)
        .FillIn(DefaultReplayShard(config.replay(i).name(), config.learner().options()));
  }
  for (v1::ReplayShard& shard : *config.mutable_replay()) {
    if (shard.listen_address().empty()) shard.set_listen_address(shard.address());
  }
  v1::LearnerRole& learner = *config.mutable_learner();
  if (learner.listen_address().empty()) learner.set_listen_address(learner.address());
}

void MakePathsAbsolute(const std::string& file, v1::ClusterConfig& config) {
  const ConfigFolder folder(file);
  folder.MakeAbsolute(*config.mutable_security());
  for (v1::ReplayShard& shard : *config.mutable_replay()) {
    folder.MakeAbsolute(*shard.mutable_data_dir());
  }
  folder.MakeAbsolute(*config.mutable_learner()->mutable_run_dir());
  folder.MakeAbsolute(*config.mutable_learner()->mutable_from());
  for (std::string& path : *config.mutable_learner()->mutable_workloads()) {
    folder.MakeAbsolute(path);
  }
  folder.MakeAbsolute(*config.mutable_actor()->mutable_spool_dir());
  folder.MakeAbsolute(*config.mutable_actor()->mutable_audit_dir());
}

}  // namespace

absl::StatusOr<v1::ClusterConfig> ParseClusterConfig(absl::string_view text,
                                                     const std::string& path, ConfigScope scope,
                                                     absl::Span<const ConfigOverride> overrides) {
  if (text.size() > kMostTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", text.size(), " bytes: at most ", kMostTextBytes, " expected"));
  }
  v1::ClusterConfig config;
  ConfigMistakes mistakes;
  ConfigPlaces places = ParseConfigText(text, config, mistakes);
  if (!places.complete) return mistakes.ToStatus(path);
  places.overrides = ApplyOverrides(overrides, config, mistakes);
  const ConfigSection root(config, places, mistakes);
  FillIn(config, root);
  MakePathsAbsolute(path, config);
  CheckClusterConfig(config, scope == ConfigScope::kWithPrograms, root);
  if (!mistakes.empty()) return mistakes.ToStatus(path);
  return config;
}

absl::StatusOr<v1::ClusterConfig> ReadClusterConfig(const std::string& path, ConfigScope scope,
                                                    absl::Span<const ConfigOverride> overrides) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseClusterConfig(*text, path, scope, overrides);
}

}  // namespace mallocmuzero
