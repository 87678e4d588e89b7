// Places random games of small programs. Every module must pass the check, and must have each
// access where the mapping wants it. Modules that no compiler made must not crash anything.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "env/game.h"
#include "env/testing/games.h"
#include "gtest/gtest.h"
#include "optimize/checked_place.h"
#include "simulator/core/hardware.h"
#include "simulator/core/simulate.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/import.h"
#include "simulator/import/read_back.h"
#include "simulator/place/testing/placeable.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"

namespace mallocmuzero {
namespace {

using place_check::ModuleFromText;

constexpr int kGames = 60;

Mapping RandomMapping(const ProgramRules& rules, std::mt19937_64& random) {
  Game game(rules);
  // Some games make many copies, others keep many buffers in fast memory.
  const uint64_t taste = random() % 3;
  while (!game.finished()) {
    std::vector<Action> legal;
    for (const Action action : kActions) {
      if ((game.legal_actions() & SetOf(action)) != 0) legal.push_back(action);
    }
    const bool first = taste > 0 && random() % 3 > 0;
    game.Apply(first ? legal.front() : legal[random() % legal.size()]);
  }
  return game.ToMapping();
}

// Counts accesses in another memory, as if the compiler returned the placed module unchanged.
uint32_t AccessesElsewhere(const place::Placeable& placeable, const Mapping& mapping,
                           const xla::HloModuleProto& placed) {
  const std::string path = placeable.path + ".placed";
  EXPECT_TRUE(WriteFileAtomically(path, placed.SerializeAsString()).ok());
  const absl::StatusOr<ReadBack> read_back = ModuleReader::Create(placeable.program)->Read(path);
  if (!read_back.ok()) {
    ADD_FAILURE() << read_back.status();
    return 1;
  }
  uint32_t elsewhere = 0;
  for (const AccessIndex a : mapping.in_fast_memory.indices()) {
    elsewhere += mapping.in_fast_memory[a] != read_back->mapping.in_fast_memory[a] ? 1 : 0;
  }
  return elsewhere;
}

void PlaceRandomGames(const place::Placeable& placeable) {
  const ProgramRules rules = testing::EverythingMatters(placeable.program);
  std::mt19937_64 random(1);
  int placed_games = 0;
  for (int game = 0; game < kGames; ++game) {
    SCOPED_TRACE(absl::StrCat("game ", game));
    const Mapping mapping = RandomMapping(rules, random);
    const absl::StatusOr<place::PlacedModule> placed =
        PlaceAndCheck(placeable.program, mapping, placeable.module, placeable.path);
    if (placed.status().code() == absl::StatusCode::kFailedPrecondition) {
      ADD_FAILURE() << placed.status();
      continue;
    }
    ASSERT_TRUE(placed.ok()) << placed.status();
    ++placed_games;
    if (game % 10 != 0) continue;
    EXPECT_EQ(AccessesElsewhere(placeable, mapping, placed->module), 0);
  }
  EXPECT_EQ(placed_games, kGames) << "a mapping was refused";
}

class PlaceGames : public ::testing::TestWithParam<const place_check::PlacedCase*> {};

TEST_P(PlaceGames, OfHandMadeModules) {
  PlaceRandomGames(place::Import(ModuleFromText(GetParam()->original)));
}

// A placed module without estimates waits for its copies as its mapping was priced, because the
// copies are in the order of Simulate.
void CompareStalls(const place::Placeable& placeable, const Mapping& mapping) {
  const Program& program = placeable.program;
  const absl::StatusOr<place::PlacedModule> placed =
      PlaceAndCheck(program, mapping, placeable.module, placeable.path);
  ASSERT_TRUE(placed.ok()) << placed.status();
  const std::string path = placeable.path + ".placed";
  ASSERT_TRUE(WriteFileAtomically(path, placed->module.SerializeAsString()).ok());
  const absl::StatusOr<v1::PriceReport> price = PriceModule(path, program.hardware());
  ASSERT_TRUE(price.ok()) << price.status();
  const double stall_cycles = Simulate(program, mapping).stall_cycles;
  EXPECT_NEAR(price->stall_cycles(), stall_cycles, 1e-9 * (1 + stall_cycles));
}

TEST_P(PlaceGames, OfHandMadeModulesWaitForCopiesAsPriced) {
  const place::Placeable placeable = place::Import(ModuleFromText(GetParam()->original));
  // A program times these with everything in HBM, a module with the placement.
  if (!placeable.program.proto().collectives().empty()) GTEST_SKIP() << "it has collectives";
  const ProgramRules rules = testing::EverythingMatters(placeable.program);
  std::mt19937_64 random(2);
  for (int game = 0; game < kGames; ++game) {
    SCOPED_TRACE(absl::StrCat("game ", game));
    CompareStalls(placeable, RandomMapping(rules, random));
  }
}

// Weights that many copies bring at once: the large ones come first in the order of the intervals,
// and the small ones are needed first.
TEST(PlaceCopies, OfManyWeightsAreWaitedForAsPriced) {
  const place::Placeable placeable = place::Import(ModuleFromText(R"(
entry main
  x = f32[65536] parameter() number=0
  w3 = f32[32768] parameter() number=1
  w2 = f32[16384] parameter() number=2
  w1 = f32[8192] parameter() number=3
  m0 = f32[65536] negate(x)
  m1 = f32[65536] abs(m0)
  u1 = f32[8192] negate(w1)
  m2 = f32[65536] abs(m1)
  u2 = f32[16384] negate(w2)
  u3 = f32[32768] negate(w3)
  ROOT r = (f32[65536], f32[8192], f32[16384], f32[32768]) tuple(m2, u1, u2, u3)
)"));
  const Program& program = placeable.program;
  const auto number = [&](const std::string& name) { return place::Number(program, name); };
  std::mt19937_64 random(1);
  for (int round = 0; round < kGames; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    Mapping mapping = AllHbmMapping(program);
    place::AddStay(program, {.buffer = place::BufferMadeBy(program, "m0"), .last = number("m1")},
                   mapping);
    for (const char* const k : {"3", "2", "1"}) {
      const InstructionIndex use = number(absl::StrCat("u", k));
      const auto start = InstructionIndex(static_cast<int32_t>(random() % 2));
      place::AddStay(program,
                     {.buffer = place::BufferMadeBy(program, absl::StrCat("w", k)),
                      .first = start,
                      .last = use,
                      .copy_in_start = start,
                      .copy_in_done = use},
                     mapping);
    }
    std::sort(mapping.intervals.begin(), mapping.intervals.end(),
              [](const Interval& a, const Interval& b) {
                return std::pair(a.first, a.buffer) < std::pair(b.first, b.buffer);
              });
    CompareStalls(placeable, mapping);
  }
}

// Makes one random edit that no compiler makes.
void Damage(std::mt19937_64& random, xla::HloModuleProto& module) {
  const auto pick = [&random](auto& elements) -> auto& {
    return elements[static_cast<int>(random() % elements.size())];
  };
  auto& computations = *module.mutable_computations();
  auto& instructions = *pick(computations).mutable_instructions();
  xla::HloInstructionProto& instruction = pick(instructions);
  const xla::HloInstructionProto& other = pick(*pick(computations).mutable_instructions());
  auto& operands = *instruction.mutable_operand_ids();
  switch (random() % 7) {
    case 0:
      instruction.set_opcode(other.opcode());
      break;
    case 1:
      *instruction.mutable_shape() = other.shape();
      break;
    case 2:
      *instruction.mutable_called_computation_ids() = other.called_computation_ids();
      break;
    case 3:
      if (!operands.empty()) operands.RemoveLast();
      break;
    case 4:
      if (!operands.empty()) pick(operands) = pick(instructions).id();
      break;
    case 5:
      instruction.set_name(other.name());
      break;
    default:
      instruction.set_parameter_number(static_cast<int64_t>(random() % 3));
      instruction.set_tuple_index(static_cast<int64_t>(random() % 3));
  }
}

TEST_P(PlaceGames, OfDamagedModulesGiveAStatus) {
  constexpr int kRounds = 300;
  const xla::HloModuleProto module = ModuleFromText(GetParam()->original);
  const v1::Hardware hardware = *LoadHardware("tpu_v6e");
  std::mt19937_64 random(1);
  int placed = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    xla::HloModuleProto damaged = module;
    for (uint64_t edits = 1 + random() % 2; edits > 0; --edits) Damage(random, damaged);
    absl::StatusOr<v1::Program> imported = ImportProgram(
        {.all_hbm_path = "damaged.pb",
         .read_file = [&](const std::string&) { return damaged.SerializeAsString(); }},
        hardware);
    if (!imported.ok()) continue;
    const absl::StatusOr<Program> program = Program::FromProto(*std::move(imported));
    ASSERT_TRUE(program.ok()) << program.status();
    const Mapping mapping = RandomMapping(testing::EverythingMatters(*program), random);
    placed += PlaceAndCheck(*program, mapping, damaged, "damaged.pb").ok() ? 1 : 0;
  }
  EXPECT_GT(placed, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, PlaceGames, ::testing::ValuesIn(place_check::kCases),
                         [](const auto& info) { return std::string(info.param->name); });

struct CapturedProgram {
  const char* chip;
  const char* name;
};

class PlaceGamesOfPrograms : public ::testing::TestWithParam<CapturedProgram> {};

TEST_P(PlaceGamesOfPrograms, PassTheCheck) {
  absl::StatusOr<xla::HloModuleProto> module =
      place::LoadModule(absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/tests/data/place/", GetParam().chip,
                                     ".", GetParam().name, ".pb.zst"));
  ASSERT_TRUE(module.ok()) << module.status();
  PlaceRandomGames(place::Import(*std::move(module), GetParam().chip));
}

INSTANTIATE_TEST_SUITE_P(Programs, PlaceGamesOfPrograms,
                         ::testing::Values(CapturedProgram{"tpu_v4i", "lstm_2x2048_b64x128"},
                                           CapturedProgram{"tpu_v6e", "gpt_scan_12x1024_b8x512"},
                                           CapturedProgram{"tpu_v4i", "dlrm_4x64_train_b4096"},
                                           CapturedProgram{"tpu_v6e",
                                                           "graph_attention_3x256_b32x256"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mallocmuzero
