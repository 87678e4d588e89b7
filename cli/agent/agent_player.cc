#include "cli/agent/agent_player.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "actor/agent.h"
#include "actor/agent_solver.h"
#include "actor/self_play.h"
#include "base/exists.h"
#include "cli/agent_executable.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "train/train_config.h"

namespace mallocmuzero::cli {

std::string ShippedCheckpoint() {
  const absl::StatusOr<std::filesystem::path> binary = OwnBinary();
  if (!binary.ok()) return "";
  const std::filesystem::path above = binary->parent_path().parent_path();
  for (const std::filesystem::path& folder : {above, above.parent_path()}) {
    const std::filesystem::path path = folder / "share" / "mallocmuzero" / "generalist.checkpoint";
    if (Exists(path)) return path.string();
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Solver>> LoadAgent(const PlayedProgram& program,
                                                  const std::string& checkpoint) {
  const absl::StatusOr<std::unique_ptr<Network>> network = LoadNetwork(checkpoint);
  if (!network.ok()) return network.status();
  auto snapshot = (*network)->Snapshot({});
  if (!snapshot.ok()) return snapshot.status();
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(DefaultSearchOptions());
  if (!search.ok()) return search.status();
  return std::make_unique<AgentSolver>(program, OwnBatches(*std::move(snapshot)), *search);
}

}  // namespace mallocmuzero::cli
