// A search for new addresses looks at some stays only. It finds what a search that looks at all of
// them finds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/refused_requests.h"
#include "env/repack.h"
#include "env/residency.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

constexpr int kAttempts = 8;
constexpr int32_t kForever = Residency::kForever;

// One block for each chain of stays that hand their bytes over, with the last stay of each.
struct AllBlocks {
  std::vector<AddressBlock> blocks;
  std::vector<StayIndex> last_stays;
};

// Searches new addresses among all stays of a game, for the decision about an access.
class ExhaustivePlaces {
 public:
  ExhaustivePlaces(const ProgramRules& rules, const Residency& residency, AccessIndex access)
      : rules_(rules), program_(rules.program()), residency_(residency), access_(access) {}

  // Where each block goes; nullopt if no place can be made.
  std::optional<AllBlocks> Find(const Residency::Request& request) const {
    AllBlocks all = FindBlocks();
    std::vector<AddressBlock>& blocks = all.blocks;
    for (size_t b = 0; b < blocks.size(); ++b) {
      blocks[b].moves = blocks[b].last >= request.first && MayMove(all.last_stays[b]);
    }
    blocks.push_back({.bytes = request.bytes,
                      .first = request.first,
                      .last = request.until,
                      .kept_until = request.until,
                      .moves = true});
    const int64_t capacity = residency_.memory().bytes();
    if (!Repack(blocks, capacity, true, kAttempts) && !Repack(blocks, capacity, false, kAttempts)) {
      return std::nullopt;
    }
    blocks.pop_back();
    return all;
  }

 private:
  bool MayMove(StayIndex stay) const {
    if (residency_.stays()[stay].cross_program_prefetch) return false;
    if (residency_.StayOf(program_.accesses()[access_].buffer) == stay) return false;
    const CarriedGroupIndex group = rules_.access(access_).take_over;
    if (group == ProgramRules::kNone) return true;
    return residency_.StayOf(program_.carried_groups()[group].initial_buffer) != stay;
  }

  AllBlocks FindBlocks() const {
    AllBlocks all;
    IndexVector<StayIndex, size_t> block_of(residency_.stays().size());
    for (const StayIndex s : residency_.stays().indices()) {
      const Stay& stay = residency_.stays()[s];
      const bool is_first = stay.handed_over_by < 0;
      block_of[s] = is_first ? all.blocks.size() : block_of[stay.handed_over_by];
      if (is_first) {
        all.blocks.push_back({.offset = stay.offset,
                              .bytes = rules_.buffer(stay.buffer).bytes,
                              .first = stay.first});
        all.last_stays.push_back(s);
      }
      all.last_stays[block_of[s]] = s;
      all.blocks[block_of[s]].last = all.blocks[block_of[s]].kept_until = stay.taken_until;
    }
    const auto now = program_.accesses()[access_].instruction;
    const auto keep = [&](StayIndex stay) {
      if (stay < 0) return;
      AddressBlock& block = all.blocks[block_of[stay]];
      block.kept_until = std::max(block.last, now);
    };
    for (const FastMemory::Region& region : residency_.memory().regions()) {
      if (region.next_use != kForever) keep(region.owner);
    }
    for (const CarriedGroupIndex g : program_.carried_groups().indices()) {
      if (residency_.group(g) != Residency::GroupSpace::kOpen) continue;
      keep(residency_.StayOf(program_.carried_groups()[g].initial_buffer));
    }
    keep(residency_.StayOf(program_.accesses()[access_].buffer));
    return all;
  }

  const ProgramRules& rules_;
  const Program& program_;
  const Residency& residency_;
  const AccessIndex access_;
};

// The memory after the moves. The blocks take their addresses in the order of time.
FastMemory MemoryOf(const Residency& residency, const ProgramRules& rules, const AllBlocks& all) {
  FastMemory memory(residency.memory().bytes());
  std::vector<size_t> order(all.blocks.size());
  for (size_t b = 0; b < order.size(); ++b) order[b] = b;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return all.blocks[a].first < all.blocks[b].first; });
  for (const size_t b : order) {
    const Stay& stay = residency.stays()[all.last_stays[b]];
    const AddressBlock& block = all.blocks[b];
    const int64_t end = block.offset + rules.buffer(stay.buffer).bytes;
    for (size_t r = memory.IndexOf(block.offset); r < memory.regions().size(); ++r) {
      const FastMemory::Region region = memory.regions()[r];
      if (region.offset >= end) break;
      if (region.owner == FastMemory::kNobody) continue;
      if (residency.stays()[region.owner].write_back < 0) continue;
      memory.SetLast(region.offset, std::max(region.last, block.first - 1));
    }
    memory.Occupy(block.offset, end - block.offset, stay.taken_until, all.last_stays[b]);
    if (stay.holds_bytes) {
      memory.SetNextUse(block.offset, residency.memory().At(stay.offset).next_use);
    } else {
      memory.Release(block.offset, block.last);
    }
  }
  return memory;
}

struct Counts {
  int moved = 0;
  int refused = 0;
};

// Asks for places at a decision of a game, and compares them with those of the exhaustive search.
void ExpectSamePlaces(const Game& game, std::mt19937_64& random, Counts& counts) {
  const ProgramRules& rules = game.rules();
  const Residency& residency = game.state().residency;
  const InstructionIndex now = game.state().instruction;
  for (int k = 0; k < 4; ++k) {
    const BufferIndex buffer(random() % game.program().buffer_count());
    const InstructionIndex first = std::max(InstructionIndex(0), now - random() % 5);
    const Residency::Request request = {
        .bytes = rules.buffer(buffer).bytes, .first = first, .until = now + random() % 4};
    if (rules.buffer(buffer).stays_in_hbm) continue;
    if (residency.memory().FindPlace(request.bytes, first, now)) continue;
    if (residency.memory().FreeBytes(first) < request.bytes) continue;
    const std::optional<Place> place = residency.FindPlace(request, game.access());
    const std::optional<AllBlocks> expected =
        ExhaustivePlaces(rules, residency, game.access()).Find(request);
    ASSERT_EQ(place.has_value(), expected.has_value());
    ++(place ? counts.moved : counts.refused);
    if (!place) continue;
    ASSERT_EQ(place->moves->memory, MemoryOf(residency, rules, *expected));
    Residency moved = residency;
    moved.MakePlace(*place);
    for (size_t b = 0; b < expected->blocks.size(); ++b) {
      const Stay& stay = moved.stays()[expected->last_stays[b]];
      ASSERT_EQ(stay.offset, expected->blocks[b].offset);
    }
  }
}

TEST(ResidencyPlaces, AreThoseOfASearchThatLooksAtAllStays) {
  Counts counts;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = testing::EverythingMatters(program);
    Player player(kPlayerKinds[seed % std::size(kPlayerKinds)], seed);
    player.StartGame();
    Game game(rules);
    while (!game.finished()) {
      ASSERT_NO_FATAL_FAILURE(ExpectSamePlaces(game, random, counts)) << "seed " << seed;
      game.Apply(player.Choose(game));
    }
  }
  EXPECT_GE(counts.moved, 100);
  EXPECT_GE(counts.refused, 100);
}

// Asks for places for all accesses of the current instruction, and compares the answers that
// remember refused requests with those that do not. Returns how many requests were refused before.
int ExpectSamePlacesAsWithoutMemory(const Game& game) {
  const Residency& residency = game.state().residency;
  const Instruction& instruction = game.program().instructions()[game.state().instruction];
  const InstructionIndex now = game.state().instruction;
  RefusedRequests refused;
  int repeated = 0;
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const AccessIndex access = instruction.first_access + k;
    for (const Access& wanted : game.program().AccessesOfInstruction(now)) {
      const Residency::Request request = {
          .bytes = game.rules().buffer(wanted.buffer).bytes, .first = now, .until = now};
      if (refused.Has(request)) ++repeated;
      EXPECT_EQ(residency.FindPlace(request, access, &refused),
                residency.FindPlace(request, access));
    }
  }
  return repeated;
}

TEST(ResidencyPlaces, AreRefusedAgainWithoutASearch) {
  int repeated = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = testing::EverythingMatters(program);
    Player player(PlayerKind::kEager, seed);
    player.StartGame();
    for (Game game(rules); !game.finished(); game.Apply(player.Choose(game))) {
      repeated += ExpectSamePlacesAsWithoutMemory(game);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(repeated, 30);
}

TEST(RefusedRequests, RemembersTheLastFew) {
  RefusedRequests refused;
  const auto request = [](int64_t bytes) { return Residency::Request{.bytes = bytes}; };
  EXPECT_FALSE(refused.Has(request(0)));
  for (int64_t bytes = 1; bytes <= 6; ++bytes) refused.Add(request(bytes));
  EXPECT_FALSE(refused.Has(request(2)));
  for (int64_t bytes = 3; bytes <= 6; ++bytes) EXPECT_TRUE(refused.Has(request(bytes)));
  refused.Clear();
  EXPECT_FALSE(refused.Has(request(6)));
}

// The pieces were taken in an order that has nothing to do with their addresses. Time in the square
// of their number would be many seconds.
TEST(ResidencyPlaces, AboveManyEarlierStaysTakeLinearTime) {
  constexpr int kPieces = 1 << 17;
  v1::Hardware hardware = testing::SmallHardware();
  const int64_t bytes = hardware.fast_memory_alignment_bytes();
  hardware.set_fast_memory_bytes(kPieces * bytes);
  testing::ProgramBuilder builder(hardware);
  for (int k = 0; k <= kPieces; ++k) builder.AddBuffer(bytes);
  const BufferIndex wanted = builder.AddBuffer((kPieces - 1) * bytes, {.live_in = true});
  for (int k = 0; k < kPieces; ++k) builder.AddInstruction(10);
  const InstructionIndex now = builder.AddInstruction(100, {testing::Read(wanted, 20)});
  const Program program = builder.Build();
  const ProgramRules rules = testing::EverythingMatters(program);
  Residency residency(rules);
  for (int k = 0; k < kPieces; ++k) {
    const InstructionIndex time(int64_t{k} * 40'503 % (kPieces - 1));
    residency.Add({.buffer = BufferIndex(k),
                   .first = time,
                   .last = time,
                   .reserved = time,
                   .offset = k * bytes});
  }
  residency.Add({.buffer = BufferIndex(kPieces),
                 .first = now - 1,
                 .last = now,
                 .reserved = now,
                 .offset = kPieces / 2 * bytes});
  const std::optional<Place> place = residency.FindPlace(
      {.bytes = rules.buffer(wanted).bytes, .first = now, .until = now}, AccessIndex(0));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->offset, 0);
  EXPECT_EQ(place->moves->moves,
            (std::vector<Rearrangement::Move>{
                {.stay = StayIndex(kPieces), .offset = (kPieces - 1) * bytes}}));
}

}  // namespace
}  // namespace mallocmuzero
