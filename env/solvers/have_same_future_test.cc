#include "env/solvers/have_same_future.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "base/testing/index_matching.h"
#include "env/action.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/residency.h"
#include "env/solvers/plan.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// Whether HBM has the value, and nothing keeps its bytes in fast memory.
bool IsLeftOver(const Game& game, BufferIndex buffer) {
  const Residency& residency = game.state().residency;
  const InstructionIndex now = game.program().accesses()[game.access()].instruction;
  const bool is_kept = residency.Holds(buffer) && residency.Current(buffer).reserved >= now;
  return !is_kept && game.hbm_copy(buffer) == Game::HbmCopy::kCurrent;
}

// Compares the games buffer by buffer.
bool HaveSameBuffers(const Game& a, const Game& b, const Plan& plan) {
  const Program& program = a.program();
  for (const BufferIndex buffer : program.buffers().indices()) {
    const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(buffer);
    const auto next = std::lower_bound(accesses.begin(), accesses.end(), a.access());
    if (next == accesses.end()) continue;
    if (plan[*next] == Action::kDrop && IsLeftOver(a, buffer) && IsLeftOver(b, buffer)) continue;
    const Residency& of_a = a.state().residency;
    const Residency& of_b = b.state().residency;
    if (of_a.Holds(buffer) != of_b.Holds(buffer)) return false;
    const bool is_held = of_a.Holds(buffer);
    if (is_held && of_a.Current(buffer).reserved != of_b.Current(buffer).reserved) return false;
    // Where a value is that nobody reads does not matter.
    const bool is_replaced = program.accesses()[*next].kind == AccessKind::kWrite;
    const bool is_pending = a.hbm_copy(buffer) == Game::HbmCopy::kPending ||
                            b.hbm_copy(buffer) == Game::HbmCopy::kPending;
    if (!is_held && is_replaced && !is_pending) continue;
    if (a.hbm_copy(buffer) != b.hbm_copy(buffer)) return false;
  }
  return true;
}

bool HaveSameRest(const Game& a, const Game& b) {
  if (a.legal_actions() != b.legal_actions()) return false;
  if (std::abs(a.timeline().PendingOut() - b.timeline().PendingOut()) > 1e-3) return false;
  if (std::abs(a.state().links.Pending() - b.state().links.Pending()) > 1e-6) return false;
  for (const CarriedGroupIndex g : a.program().carried_groups().indices()) {
    if (a.state().residency.group(g) != b.state().residency.group(g)) return false;
  }
  return true;
}

TEST(HaveSameFuture, IsTrueIfAllBuffersThatAreUsedAgainAreAlike) {
  int same = 0;
  int different = 0;
  int same_but_for_left_overs = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = testing::EverythingMatters(program);
    Player player(PlayerKind::kRandom, seed);
    player.StartGame();
    const Plan all_kept(program.access_count(), Action::kCopy);
    Plan plan = all_kept;
    for (Action& intended : plan) {
      if (random() % 2 == 0) intended = Action::kDrop;
    }
    Game a(rules);
    Game b(rules);
    while (!a.finished() && !b.finished()) {
      const Action action = player.Choose(a);
      // The games differ at some decisions, and then follow each other.
      a.Apply(random() % 10 == 0 ? EagerAction(a.legal_actions()) : action);
      while (!b.finished() && b.access() < a.access()) {
        const Action wanted = a.in_fast_memory()[b.access()] != 0 ? Action::kNoCopy : Action::kDrop;
        b.Apply(b.IsLegal(action) ? action
                                  : (b.IsLegal(wanted) ? wanted : EagerAction(b.legal_actions())));
      }
      if (a.finished() || a.access() != b.access()) continue;
      const bool expected = HaveSameRest(a, b) && HaveSameBuffers(a, b, plan);
      ASSERT_EQ(HaveSameFuture(a, b, plan), expected)
          << "seed " << seed << ", access " << a.access();
      ++(expected ? same : different);
      if (expected && !HaveSameBuffers(a, b, all_kept)) ++same_but_for_left_overs;
    }
  }
  EXPECT_GE(same, 100);
  EXPECT_GE(same_but_for_left_overs, 20);
  EXPECT_GE(different, 100);
}

}  // namespace
}  // namespace mallocmuzero
