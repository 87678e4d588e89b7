#include "env/keep_value.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/program_rules.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::RandomGameProgram;
using testing::Read;
using testing::Write;

TEST(FindKeepValues, FirstAccessesAndWritesKeepNothing) {
  ProgramBuilder builder;
  builder.AddBuffer(64, {.live_in = true});
  builder.AddBuffer(64);
  builder.AddInstruction(10, {Read(0, 5), Write(1, 2)});
  builder.AddInstruction(10, {Write(1, 2)});
  builder.AddInstruction(10, {Read(0, 5), Read(1, 3)});
  const Program program = builder.Build();
  const IndexVector<AccessIndex, KeepValue> values =
      FindKeepValues(EverythingMatters(program), IndexVector<AccessIndex, double>{5, 2, 2, 5, 3});
  std::vector<bool> exist;
  for (const KeepValue& value : values) exist.push_back(value.exists);
  EXPECT_THAT(exist, ::testing::ElementsAre(false, false, false, true, true));
}

// Fast memory of 1024 bytes, 40 cycles. Both buffers are read at 0 and at 3, and kept meanwhile:
// over instructions 1 to 3, 30 cycles.
TEST(FindKeepValues, TheDensityIsTheSavingForBytesAndCycles) {
  ProgramBuilder builder;
  builder.AddBuffer(512, {.live_in = true});
  builder.AddBuffer(768, {.live_in = true});
  builder.AddInstruction(10, {Read(0), Read(1)});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(0), Read(1)});
  const Program program = builder.Build();
  const IndexVector<AccessIndex, KeepValue> values =
      FindKeepValues(EverythingMatters(program), IndexVector<AccessIndex, double>{0, 0, 6, 2});
  // All savings, 8 cycles, for all of the memory: 8 / (1024 * 40) a byte and cycle.
  const double unit = 8.0 / (1024 * 40);
  EXPECT_DOUBLE_EQ(values[2].savings_density, 6.0 / (512 * 30) / unit);
  EXPECT_DOUBLE_EQ(values[3].savings_density, 2.0 / (768 * 30) / unit);
  EXPECT_DOUBLE_EQ(values[2].occupied, 0);
  EXPECT_DOUBLE_EQ(values[3].occupied, 0.5);
}

// The second has no room beside the first, so it is not in the way of the third.
TEST(FindKeepValues, WhatHasNoRoomTakesNone) {
  ProgramBuilder builder;
  builder.AddBuffer(640, {.live_in = true});
  builder.AddBuffer(512, {.live_in = true});
  builder.AddBuffer(128, {.live_in = true});
  builder.AddInstruction(10, {Read(0), Read(1), Read(2)});
  builder.AddInstruction(10, {Read(0), Read(1), Read(2)});
  const Program program = builder.Build();
  const IndexVector<AccessIndex, KeepValue> values = FindKeepValues(
      EverythingMatters(program), IndexVector<AccessIndex, double>{0, 0, 0, 6.4, 2.56, 0.128});
  EXPECT_DOUBLE_EQ(values[4].occupied, 0.625);
  EXPECT_DOUBLE_EQ(values[5].occupied, 0.625);
}

TEST(FindKeepValues, WhatSavesNothingIsWorthNothing) {
  ProgramBuilder builder;
  builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10, {Read(0)});
  builder.AddInstruction(10, {Read(0)});
  const Program program = builder.Build();
  const IndexVector<AccessIndex, KeepValue> values =
      FindKeepValues(EverythingMatters(program), IndexVector<AccessIndex, double>{0, -1});
  EXPECT_TRUE(values[1].exists);
  EXPECT_LE(values[1].savings_density, 0);
}

// One instruction after the other, one value after the other.
IndexVector<AccessIndex, double> OccupiedByHand(const ProgramRules& rules,
                                                const IndexVector<AccessIndex, KeepValue>& values) {
  const Program& program = rules.program();
  struct Span {
    double savings_density;
    AccessIndex access;
    InstructionIndex first;
    InstructionIndex end;
    double bytes;
  };
  std::vector<Span> spans;
  for (const BufferIndex b : program.buffers().indices()) {
    const auto accesses = program.AccessesOfBuffer(b);
    for (size_t k = 1; k < accesses.size(); ++k) {
      const AccessIndex a = accesses[k];
      if (!values[a].exists) continue;
      const InstructionIndex end =
          rules.SpanEnd(program.accesses()[a].instruction, rules.buffer(b).defining_loop);
      spans.push_back({values[a].savings_density, a,
                       program.accesses()[accesses[k - 1]].instruction + 1, end + 1,
                       static_cast<double>(rules.buffer(b).bytes)});
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.savings_density > b.savings_density;
  });
  const auto capacity = static_cast<double>(program.hardware().fast_memory_bytes());
  IndexVector<InstructionIndex, double> kept(program.instruction_count(), 0);
  IndexVector<AccessIndex, double> occupied(rules.access_count(), 0);
  for (const Span& span : spans) {
    double sum = 0;
    double cycles = 0;
    for (InstructionIndex i = span.first; i < span.end; ++i) {
      const double time =
          program.latency().Cycles(i, 0) * program.instructions()[i].execution_count;
      sum += kept[i] * time;
      cycles += time;
    }
    const double load = cycles > 0 ? sum / cycles / capacity : 0;
    occupied[span.access] = load;
    if (span.savings_density <= 0 || load + span.bytes / capacity > 1 + 1e-9) continue;
    for (InstructionIndex i = span.first; i < span.end; ++i) kept[i] += span.bytes;
  }
  return occupied;
}

TEST(FindKeepValues, OccupancyIsThatOfASumOverInstructions) {
  std::mt19937_64 random(5);
  int compared = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Program program = RandomGameProgram(random);
    const ProgramRules rules = ProgramRules::Create(program);
    IndexVector<AccessIndex, double> savings;
    for (uint32_t a = 0; a < program.access_count(); ++a) {
      savings.push_back(std::uniform_real_distribution<double>(-1, 10)(random));
    }
    const IndexVector<AccessIndex, KeepValue> values = FindKeepValues(rules, savings);
    const IndexVector<AccessIndex, double> occupied = OccupiedByHand(rules, values);
    for (const AccessIndex a : program.accesses().indices()) {
      ASSERT_NEAR(values[a].occupied, occupied[a], 1e-9) << "trial " << trial << ", access " << a;
      if (occupied[a] > 0) ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace mallocmuzero
