#include "cli/agent/agent_player.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actor/agent.h"
#include "actor/self_play.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "train/train_config.h"

namespace mallocmuzero::cli {

std::string ShippedCheckpoint() {
  std::error_code error;
  const std::filesystem::path binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path above = binary.parent_path().parent_path();
  for (const std::filesystem::path& folder : {above, above.parent_path()}) {
    const std::filesystem::path path = folder / "share" / "mallocmuzero" / "generalist.checkpoint";
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return "";
}

absl::StatusOr<std::vector<Proposal>> ProposeWithAgent(const PlayedProgram& program,
                                                       const std::string& checkpoint,
                                                       const AgentLimits& limits) {
  const absl::StatusOr<std::unique_ptr<Network>> network = LoadNetwork(checkpoint);
  if (!network.ok()) return network.status();
  std::vector<Proposal> proposals;
  if (program.decisions() == 0) return proposals;
  const auto snapshot = (*network)->Snapshot({});
  if (!snapshot.ok()) return snapshot.status();
  AgentOptions options;
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(DefaultSearchOptions());
  if (!search.ok()) return search.status();
  options.search = *search;
  options.deadline = limits.deadline;
  options.stop = [&] { return absl::Now() >= limits.end || (limits.stop && limits.stop()); };
  options.seed = limits.seed;
  absl::StatusOr<AgentGames> played = PlayAgent(program, *snapshot, options);
  if (!played.ok()) return played.status();
  for (std::vector<Action>& game : played->games) {
    proposals.push_back({.player = "agent", .actions = std::move(game)});
  }
  return proposals;
}

}  // namespace mallocmuzero::cli
