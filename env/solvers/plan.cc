#include "env/solvers/plan.h"

#include <algorithm>
#include <utility>

#include "simulator/core/values.h"

namespace mallocmuzero {

void PlayPlan(const Plan& plan, Game& game) {
  PlayOn([&](const Game& now) { return Choose(plan[now.access()], now.legal_actions()); }, game);
}

PlayedPlan Played(const ProgramRules& rules, Plan plan) {
  return *PlayedUnless(rules, std::move(plan), [] { return false; });
}

std::optional<PlayedPlan> PlayedUnless(const ProgramRules& rules, Plan plan,
                                       absl::FunctionRef<bool()> give_up) {
  Game game(rules);
  if (!game.Follow(plan, rules.end_access(), give_up)) return std::nullopt;
  return PlayedPlan{std::move(plan), game.cycles()};
}

const PlayedPlan& BestOf(absl::Span<const PlayedPlan> plans) {
  return *std::min_element(plans.begin(), plans.end(),
                           [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
}

Game PlayActions(const ProgramRules& rules, absl::Span<const Action> actions) {
  Game game(rules);
  for (const Action action : actions) game.Apply(action);
  return game;
}

Plan PlanOf(const Game& game) {
  std::vector<AccessIndex> decided;
  Game again(game.rules());
  for (const Action action : game.history()) {
    decided.push_back(again.access());
    again.Apply(action);
  }
  return PlanOf(game, decided);
}

Plan PlanOf(const Game& game, absl::Span<const AccessIndex> decided) {
  Plan plan = FollowPlan(game.program(), game.in_fast_memory());
  for (size_t k = 0; k < decided.size(); ++k) plan[decided[k]] = game.history()[k];
  return plan;
}

Plan FollowPlan(const Program& program, IndexSpan<AccessIndex, const uint8_t> in_fast_memory) {
  Plan plan(program.access_count(), Action::kDrop);
  for (const Value& value : FindValues(program)) {
    bool rest_is_fast = true;  // of the accesses after the current one
    for (size_t k = value.accesses.size(); k-- > 0;) {
      const AccessIndex a = value.accesses[k];
      const bool is_fast = in_fast_memory[a] != 0;
      if (is_fast) {
        const bool leaves = program.accesses()[a].kind != AccessKind::kRead && !rest_is_fast;
        plan[a] = leaves ? Action::kCopy : Action::kNoCopy;
      }
      rest_is_fast = rest_is_fast && is_fast;
    }
  }
  return plan;
}

Plan FollowPlan(const Program& program, const Mapping& mapping) {
  Plan plan = FollowPlan(program, mapping.in_fast_memory);
  for (const Interval& interval : mapping.intervals) {
    bool is_there = interval.copy_in_start < 0;
    const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(interval.buffer);
    const auto first = std::partition_point(accesses.begin(), accesses.end(), [&](AccessIndex a) {
      return program.accesses()[a].instruction < interval.first;
    });
    for (const AccessIndex a : accesses.subspan(first - accesses.begin())) {
      const Access& access = program.accesses()[a];
      if (access.instruction > interval.last) break;
      if (mapping.in_fast_memory[a] == 0) continue;
      const bool changes = access.kind != AccessKind::kRead;
      const bool copies = !is_there || (changes && interval.copy_out_start >= 0);
      plan[a] = copies ? Action::kCopy : Action::kNoCopy;
      is_there = true;
    }
  }
  return plan;
}

}  // namespace mallocmuzero
