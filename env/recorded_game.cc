#include "env/recorded_game.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/enums.h"
#include "base/status_macros.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/recorded_incumbent.h"

namespace mallocmuzero {
namespace {

constexpr int kIdBytes = 16;

// Rounding errors: of sums of float32 shares, and of rewards.
constexpr double kPolicyTolerance = 1e-3;
constexpr double kReturnTolerance = 1e-9;

// The largest value or return that a search finds, in absolute value. Targets that are made of
// larger ones could become infinite as float32.
constexpr float kMostValue = 1e30F;

bool IsValue(float value) { return std::abs(value) <= kMostValue; }  // false for NaN

absl::Status Wrong(const PlayedProgram& program, absl::string_view field,
                   absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(program.name(), ": trajectory.", field, ": ", expected, " expected"));
}

bool IsPolicy(const v1::Trajectory& trajectory, int decision) {
  double sum = 0;
  for (int a = 0; a < kActionCount; ++a) {
    const float share = trajectory.policies(decision * kActionCount + a);
    if (!(share >= 0) || share > 1 + kPolicyTolerance) return false;
    sum += share;
  }
  return sum == 0 || std::abs(sum - 1) < kPolicyTolerance;
}

absl::Status CheckIncumbent(const PlayedProgram& program, const v1::Trajectory& trajectory) {
  if (!trajectory.has_incumbent()) return absl::OkStatus();
  const v1::Trajectory::Incumbent& incumbent = trajectory.incumbent();
  const uint32_t accesses = program.rules().access_count();
  if (incumbent.in_fast_memory().size() != FastMemoryBytes(accesses)) {
    return Wrong(program, "incumbent.in_fast_memory", "one bit for each access of the program");
  }
  if (incumbent.leads_size() != trajectory.accesses_size()) {
    return Wrong(program, "incumbent.leads", "as many as accesses");
  }
  if (!std::all_of(incumbent.leads().begin(), incumbent.leads().end(),
                   [](float lead) { return std::isfinite(lead); })) {
    return Wrong(program, "incumbent.leads", "finite numbers");
  }
  if (incumbent.window_end() > accesses) {
    return Wrong(program, "incumbent.window_end", "at most the number of accesses of the program");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Action> ActionsOf(absl::string_view bytes) {
  std::vector<Action> actions;
  for (const char byte : bytes) actions.push_back(static_cast<Action>(byte));
  return actions;
}

std::string BytesOf(absl::Span<const Action> actions) {
  std::string bytes;
  for (const Action action : actions) bytes.push_back(static_cast<char>(Underlying(action)));
  return bytes;
}

std::optional<Game> PlayWhole(const ProgramRules& rules, absl::Span<const Action> actions) {
  Game game(rules);
  for (const Action action : actions) {
    const bool is_action = Underlying(action) < kActionCount;
    if (game.finished() || !is_action || !game.IsLegal(action)) return std::nullopt;
    game.Apply(action);
  }
  if (!game.finished()) return std::nullopt;
  return game;
}

absl::Status CheckTrajectory(const PlayedProgram& program, const v1::Trajectory& trajectory) {
  if (trajectory.program_sha256() != program.sha256()) {
    return Wrong(program, "program_sha256", "that of this program");
  }
  if (trajectory.rules_version() != kGameRulesVersion) {
    return Wrong(program, "rules_version", absl::StrCat(kGameRulesVersion));
  }
  if (trajectory.id().size() != kIdBytes) return Wrong(program, "id", "16 bytes");
  const int decisions = trajectory.accesses_size();
  if (decisions < 1) return Wrong(program, "accesses", "one or more");
  if (trajectory.actions().size() != decisions || trajectory.legal_actions().size() != decisions ||
      trajectory.rewards_size() != decisions || trajectory.root_values_size() != decisions ||
      trajectory.policies_size() != decisions * kActionCount) {
    return Wrong(program, "actions, legal_actions, rewards, root_values, policies",
                 "as many as accesses (policies: times 3)");
  }
  if (trajectory.searched_returns_size() != 0 && trajectory.searched_returns_size() != decisions) {
    return Wrong(program, "searched_returns", "none, or as many as accesses");
  }
  if (!std::isfinite(trajectory.initial_return())) {
    return Wrong(program, "initial_return", "a finite number");
  }
  if (trajectory.has_window() && (trajectory.window().begin() >= trajectory.window().end() ||
                                  trajectory.window().end() > static_cast<uint32_t>(decisions))) {
    return Wrong(program, "window", "one or more of the decisions");
  }
  MMZ_RETURN_IF_ERROR(CheckIncumbent(program, trajectory));
  for (int d = 0; d < decisions; ++d) {
    if (!std::isfinite(trajectory.rewards(d))) {
      return Wrong(program, "rewards", "finite numbers");
    }
    const bool is_searched = !std::isnan(trajectory.root_values(d));
    if (is_searched && !IsValue(trajectory.root_values(d))) {
      return Wrong(program, "root_values", "numbers of at most 1e30, or NaN");
    }
    if (is_searched && trajectory.searched_returns_size() != 0 &&
        !IsValue(trajectory.searched_returns(d))) {
      return Wrong(program, "searched_returns",
                   "numbers of at most 1e30 where root_values has some");
    }
    if (!IsPolicy(trajectory, d)) return Wrong(program, "policies", "shares that sum to 1, or 0");
  }
  return absl::OkStatus();
}

absl::Status CheckRecordedGame(const PlayedProgram& program, const v1::Trajectory& trajectory) {
  MMZ_RETURN_IF_ERROR(CheckTrajectory(program, trajectory));
  Game game(program.rules());
  if (std::abs(trajectory.initial_return() - game.total_return()) > kReturnTolerance) {
    return Wrong(program, "initial_return", absl::StrCat(game.total_return()));
  }
  for (int d = 0; d < trajectory.accesses_size(); ++d) {
    const uint8_t action = trajectory.actions()[d];
    if (game.finished() || game.access() != AccessIndex(trajectory.accesses(d)) ||
        action >= kActionCount || !game.IsLegal(static_cast<Action>(action))) {
      return Wrong(program, absl::StrCat("actions[", d, "]"), "a decision that the game asks for");
    }
    const double reward = game.Apply(static_cast<Action>(action));
    if (std::abs(trajectory.rewards(d) - reward) > kReturnTolerance) {
      return Wrong(program, absl::StrCat("rewards[", d, "]"), absl::StrCat(reward));
    }
  }
  if (!game.finished()) return Wrong(program, "actions", "a whole game");
  return absl::OkStatus();
}

}  // namespace mallocmuzero
