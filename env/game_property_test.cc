// For any game of any player: the rewards add up to the share of time that Simulate finds saved,
// and Validate finds nothing wrong with the mapping. A game is the same whether it was asked or
// not.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "env/check/game_check.h"
#include "env/game.h"
#include "env/legal.h"
#include "env/observation.h"
#include "env/players.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/odd_group_program.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/validate/testing/random_case.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using testing::BundledNames;
using testing::CorpusPaths;
using testing::ImportBundled;
using testing::OddGroupProgram;
using testing::RandomGameProgram;
using testing::RandomProgram;

// Games over random programs; MALLOCMUZERO_RANDOM_GAMES asks for more of them.
uint64_t RandomGames() {
  const char* wanted = std::getenv("MALLOCMUZERO_RANDOM_GAMES");
  uint64_t games = 0;
  return wanted != nullptr && absl::SimpleAtoi(wanted, &games) ? games : 9000;
}

ProgramRules Rules(const Program& program, double negligible_share) {
  return ProgramRules::Create(program, {.negligible_share = negligible_share});
}

GameCheck PlayAndCheck(const ProgramRules& rules, Player& player, CheckDepth depth) {
  player.StartGame();
  Game game(rules);
  double sum = game.initial_return();
  while (!game.finished()) sum += game.Apply(player.Choose(game));
  return CheckGame(game, sum, depth);
}

template <typename MakeProgram>
void ExpectTruthOnRandomPrograms(uint64_t games, const MakeProgram& make_program) {
  std::vector<Player> players;
  for (const PlayerKind kind : kPlayerKinds) players.emplace_back(kind, 1);
  for (uint64_t seed = 0; seed < games / 3; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = make_program(random);
    const ProgramRules rules = Rules(program, seed % 4 == 0 ? 0.01 : -1);
    for (size_t k = 0; k < players.size(); ++k) {
      const GameCheck check = PlayAndCheck(rules, players[k], CheckDepth::kValidity);
      ASSERT_TRUE(check.ok()) << "seed " << seed << ", player " << PlayerName(kPlayerKinds[k])
                              << "\n"
                              << check.Message();
    }
  }
}

TEST(GameProperty, ReturnIsWhatSimulateSaysOnRandomProgramsOfTheValidator) {
  ExpectTruthOnRandomPrograms(RandomGames() / 3, RandomProgram);
}

TEST(GameProperty, ReturnIsWhatSimulateSaysOnRandomPrograms) {
  ExpectTruthOnRandomPrograms(RandomGames() - RandomGames() / 3, RandomGameProgram);
}

TEST(GameProperty, ReturnIsWhatSimulateSaysWithCollectivesInFlight) {
  ExpectTruthOnRandomPrograms(RandomGames() / 3, testing::RandomProgramWithCollectives);
}

TEST(GameProperty, ReturnIsWhatSimulateSaysWithBuffersInFlight) {
  ExpectTruthOnRandomPrograms(RandomGames() / 3, testing::RandomProgramWithFlights);
}

// The random flights are such that players have a choice.
TEST(GameProperty, BuffersInFlightAreInBothMemories) {
  Player player(PlayerKind::kRandom, 1);
  uint64_t fast = 0;
  uint64_t in_hbm = 0;
  for (uint64_t seed = 0; seed < RandomGames() / 90; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomProgramWithFlights(random);
    const ProgramRules rules = Rules(program, -1);
    Game game(rules);
    while (!game.finished()) game.Apply(player.Choose(game));
    for (const AccessIndex a : program.accesses().indices()) {
      if (!rules.access(a).starts_flight) continue;
      ++(game.in_fast_memory()[a] != 0 ? fast : in_hbm);
    }
  }
  EXPECT_GT(fast, in_hbm / 10);
  EXPECT_GT(in_hbm, fast / 10);
}

// Faults of a program that uses values before they are made. No mapping mends them.
std::set<std::string> FaultsOfTheProgram(const Program& program) {
  Mapping all_hbm;
  all_hbm.in_fast_memory.assign(program.access_count(), 0);
  std::set<std::string> faults;
  for (const Violation& violation : Validate(program, all_hbm)) faults.insert(violation.message);
  return faults;
}

TEST(GameProperty, ReturnIsWhatSimulateSaysWhateverTheCarriedGroups) {
  std::vector<Player> players;
  for (const PlayerKind kind : kPlayerKinds) players.emplace_back(kind, 1);
  uint64_t fast_groups = 0;
  uint64_t other_groups = 0;
  for (uint64_t seed = 0; seed < RandomGames() / 3; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = OddGroupProgram(random);
    const ProgramRules rules = Rules(program, seed % 4 == 0 ? 0.01 : -1);
    for (const CarriedGroupIndex g : program.carried_groups().indices()) {
      ++(rules.group(g).may_be_fast ? fast_groups : other_groups);
    }
    const std::set<std::string> known = FaultsOfTheProgram(program);
    for (size_t k = 0; k < players.size(); ++k) {
      GameCheck check = PlayAndCheck(rules, players[k], CheckDepth::kValidity);
      std::erase_if(check.violations, [&known](const Violation& violation) {
        return known.contains(violation.message);
      });
      ASSERT_TRUE(check.ok()) << "seed " << seed << ", player " << PlayerName(kPlayerKinds[k])
                              << "\n"
                              << check.Message();
    }
  }
  // The programs are odd, but not so odd that nothing is tested.
  EXPECT_GT(fast_groups, other_groups / 3);
  EXPECT_GT(other_groups, fast_groups / 3);
}

// Asks a game everything that a player, an observation or a solver can ask.
void AskEverything(const Game& game, ObservationWriter& writer, std::vector<float>& row) {
  ASSERT_EQ(Legal(game.state()), game.options());
  for (const Action action : kActions) {
    ASSERT_EQ(game.IsLegal(action), Contains(game.legal_actions(), action));
  }
  writer.Write(game, absl::MakeSpan(row));
  for (const BufferIndex b : game.program().buffers().indices()) {
    ASSERT_EQ(game.InFastMemory(b), game.state().residency.Holds(b));
    ASSERT_EQ(game.hbm_copy(b) == Game::HbmCopy::kStale, !game.state().hbm[b].IsOnItsWay());
  }
  ASSERT_GE(game.copy_start(), -1);
  ASSERT_GT(game.MemoryBytes(), 0u);
  ASSERT_LE(game.total_return(), 1.0);
}

TEST(GameProperty, AskingChangesNothing) {
  Player player(PlayerKind::kRandom, 1);
  std::mt19937_64 ask(2);
  uint64_t games_with_moves = 0;
  for (uint64_t seed = 0; seed < RandomGames() / 9; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = seed % 3 == 0 ? OddGroupProgram(random) : RandomGameProgram(random);
    const ProgramRules rules = Rules(program, -1);
    const ObservationTables tables(rules);
    ObservationWriter writer(tables);
    std::vector<float> row(kObservationSize);
    player.StartGame();
    Game asked(rules);
    Game not_asked(rules);
    bool moves = false;
    while (!asked.finished()) {
      for (uint64_t times = ask() % 4; times > 0; --times) {
        ASSERT_NO_FATAL_FAILURE(AskEverything(asked, writer, row)) << "seed " << seed;
      }
      moves |= asked.options().place.moves != nullptr;
      const Action action = player.Choose(asked);
      ASSERT_EQ(asked.Apply(action), not_asked.Apply(action)) << "seed " << seed;
      ASSERT_TRUE(asked == not_asked) << "seed " << seed << ", access " << asked.access();
    }
    ASSERT_EQ(asked.total_return(), not_asked.total_return());
    games_with_moves += moves ? 1 : 0;
  }
  EXPECT_GT(games_with_moves, RandomGames() / 1000);  // a place that needs moves was asked for
}

// Choose takes the same action of both options, and both say the same about this action.
void ExpectSameChoice(const Options& all, const Options& found, Action intended, AccessKind kind) {
  const Action action = Choose(intended, all.actions);
  ASSERT_EQ(found.actions & all.actions, found.actions);
  ASSERT_EQ(Choose(intended, found.actions), action);
  if (action == Action::kNoCopy) {
    ASSERT_EQ(found.keep_until, all.keep_until);
  }
  if (action == Action::kCopy) {
    ASSERT_EQ(found.copy_in, all.copy_in);
  }
  if (action == Action::kCopy || (action == Action::kNoCopy && kind == AccessKind::kWrite)) {
    ASSERT_EQ(found.place, all.place);
  }
}

TEST(GameProperty, AGameThatFollowsAPlanIsTheOneThatTakesItsActions) {
  constexpr Program (*kMakers[])(std::mt19937_64&) = {OddGroupProgram, RandomGameProgram,
                                                      testing::RandomProgramWithFlights};
  uint64_t shorter = 0;  // searches for options that left some out
  for (uint64_t seed = 0; seed < RandomGames() / 9; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = kMakers[seed % std::size(kMakers)](random);
    const ProgramRules rules = Rules(program, seed % 4 == 0 ? 0.01 : -1);
    IndexVector<AccessIndex, Action> plan(program.access_count());
    for (Action& action : plan) action = kActions[random() % kActionCount];
    Game following(rules);
    Game taking(rules);
    while (!taking.finished()) {
      for (const Action intended : kActions) {
        const Options found = Legal(taking.state(), intended);
        ASSERT_NO_FATAL_FAILURE(ExpectSameChoice(taking.options(), found, intended,
                                                 program.accesses()[taking.access()].kind))
            << "seed " << seed;
        if (found != taking.options()) ++shorter;
      }
      const AccessIndex end = std::min(taking.access() + (1 + random() % 20), rules.end_access());
      while (taking.access() < end) {
        taking.Apply(Choose(plan[taking.access()], taking.legal_actions()));
      }
      uint64_t left = random() % 16;
      while (!following.Follow(plan, end, [&left] { return left-- == 0; })) {
      }
      ASSERT_TRUE(following.state() == taking.state()) << "seed " << seed;
      ASSERT_EQ(following.options(), taking.options()) << "seed " << seed;
      ASSERT_EQ(following.cycles(), taking.cycles()) << "seed " << seed;
    }
    ASSERT_EQ(following.ToMapping(), taking.ToMapping()) << "seed " << seed;
  }
  EXPECT_GT(shorter, RandomGames() / 9);
}

// Validate is quadratic in the intervals: where there are many, it sees one game of each player.
void ExpectTruth(const Program& program, int games, const std::string& name) {
  const ProgramRules rules = Rules(program, 1e-7);
  for (const PlayerKind kind : kPlayerKinds) {
    Player player(kind, 7);
    for (int g = 0; g < games; ++g) {
      const CheckDepth depth = g == 0 ? CheckDepth::kValidity : CheckDepth::kPrice;
      const GameCheck check = PlayAndCheck(rules, player, depth);
      ASSERT_TRUE(check.ok()) << name << ", player " << PlayerName(kind) << ", game " << g << "\n"
                              << check.Message();
    }
  }
}

TEST(GameProperty, ReturnIsWhatSimulateSaysOnTheCorpus) {
  const std::vector<std::string> paths = CorpusPaths(MALLOCMUZERO_SOURCE_DIR);
  ASSERT_GE(paths.size(), 50);
  for (const std::string& path : paths) {
    const absl::StatusOr<Program> program = LoadProgram(path);
    ASSERT_TRUE(program.ok()) << program.status();
    ExpectTruth(*program, 6, path);
  }
}

TEST(GameProperty, ReturnIsWhatSimulateSaysOnTheBundledPrograms) {
  const std::vector<std::string> names = BundledNames(MALLOCMUZERO_SOURCE_DIR);
  ASSERT_GE(names.size(), 6);
  for (const std::string& name : names) {
    const absl::StatusOr<Program> program = ImportBundled(MALLOCMUZERO_SOURCE_DIR, name);
    ASSERT_TRUE(program.ok()) << program.status();
    ExpectTruth(*program, 6, name);
  }
}

}  // namespace
}  // namespace mallocmuzero
