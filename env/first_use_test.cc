// The compiler makes a value in fast memory only for its first use: the actions that this rule
// forbids and forces.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using testing::CorpusPaths;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using testing::StaysOf;
using testing::Update;
using testing::Write;

constexpr uint32_t kBuffer = 0;
constexpr uint32_t kOther = 1;

// Written by 0, read by 2 and 3; instruction 1 writes another value of 512 bytes, which 3 reads.
Program WriteAndTwoReads(int64_t bytes) {
  ProgramBuilder builder;
  builder.AddBuffer(bytes);
  builder.AddBuffer(512);
  builder.AddInstruction(1000, {Write(kBuffer, 5)});
  builder.AddInstruction(1000, {Write(kOther, 5)});
  builder.AddInstruction(1000, {Read(kBuffer, 5)});
  builder.AddInstruction(1000, {Read(kBuffer, 5), Read(kOther, 5)});
  return builder.Build();
}

TEST(FirstUse, IsInFastMemoryIfTheWriteIs) {
  const Program program = WriteAndTwoReads(256);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  ASSERT_TRUE(game.IsLegal(kCopy));
  game.Apply(kCopy);
  EXPECT_EQ(game.access(), 1u);
  game.Apply(kDrop);
  // The read by 2 was taken by rule; the one by 3 may well be from HBM.
  EXPECT_EQ(game.access(), 3u);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kDrop);
  game.Apply(kDrop);  // the other value
  ASSERT_TRUE(game.finished());
  EXPECT_EQ(game.ToMapping().in_fast_memory[2], 1);
  EXPECT_EQ(game.ToMapping().in_fast_memory[3], 0);
}

TEST(FirstUse, KeepsTheBytesOfItsWrite) {
  const Program program = WriteAndTwoReads(1024);  // all there is
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  game.Apply(kNoCopy);  // the read by 3: no other decision is left before it
  EXPECT_TRUE(game.finished());
  EXPECT_TRUE(StaysOf(game, kOther).empty());
}

TEST(FirstUse, IsFreeAfterAWriteToHbm) {
  const Program program = WriteAndTwoReads(256);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  game.Apply(kDrop);
  EXPECT_EQ(game.access(), 2u);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
}

TEST(FirstUse, ThatDoesNotExistLeavesTheWriteInHbm) {
  for (const bool live_out : {false, true}) {
    ProgramBuilder builder;
    builder.AddBuffer(256, {.live_out = live_out});
    builder.AddInstruction(1000, {Write(kBuffer, 5)});
    const Program program = builder.Build();
    const ProgramRules rules = EverythingMatters(program);
    const Game game(rules);
    EXPECT_TRUE(game.finished());
    EXPECT_EQ(game.total_return(), 0);
  }
}

TEST(FirstUse, ThatIsAnUpdateNeedsNoCopyBeforeIt) {
  ProgramBuilder builder;
  builder.AddBuffer(256, {.live_out = true});
  builder.AddInstruction(1000, {Write(kBuffer, 5)});
  builder.AddInstruction(1000, {Update(kBuffer, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  // The update is what writes the value back, as the program's output.
  EXPECT_TRUE(game.finished());
  EXPECT_EQ(game.ToMapping().in_fast_memory, (IndexVector<AccessIndex, uint8_t>{1, 1}));
}

TEST(FirstUse, ThatIsALoopsComesWithTheLoop) {
  ProgramBuilder builder;
  for (uint32_t b = 0; b < 4; ++b) builder.AddBuffer(96);
  builder.AddInstruction(1000, {Write(0, 5)});
  const LoopIndex loop = builder.BeginLoop(10);
  builder.AddInstruction(1000, {Read(1, 5)});
  builder.AddInstruction(1000, {Write(2, 5)});
  builder.EndLoop();
  builder.AddInstruction(1000, {Read(3, 5)});
  builder.AddCarriedGroup(loop, 0, 1, 2, 3);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  EXPECT_TRUE(game.finished());
  EXPECT_EQ(game.ToMapping().in_fast_memory, (IndexVector<AccessIndex, uint8_t>{1, 1, 1, 1}));
}

// The observation behind the rule: in no module that the compiler makes by default, of all programs
// in workloads/, is a value in fast memory first used from HBM, or never used.
TEST(FirstUse, IsInFastMemoryIfTheWriteIsInEveryModuleOfTheCompiler) {
  const std::vector<std::string> paths = CorpusPaths(MALLOCMUZERO_SOURCE_DIR);
  ASSERT_GE(paths.size(), 50);
  int checked = 0;  // values
  for (const std::string& path : paths) {
    const absl::StatusOr<Program> program = LoadProgram(path);
    ASSERT_TRUE(program.ok()) << program.status();
    IndexVector<BufferIndex, uint8_t> carried(program->buffer_count());
    for (const CarriedGroup& group : program->carried_groups()) {
      carried[group.initial_buffer] = carried[group.root_buffer] = 1;
    }
    const auto& fast = program->baseline()->mapping.in_fast_memory;
    for (const BufferIndex b : program->buffers().indices()) {
      const absl::Span<const AccessIndex> accesses = program->AccessesOfBuffer(b);
      for (size_t k = 0; k < accesses.size(); ++k) {
        const Access& access = program->accesses()[accesses[k]];
        if (access.kind != AccessKind::kWrite || fast[accesses[k]] == 0) continue;
        const bool is_used = k + 1 < accesses.size();
        ++checked;
        EXPECT_NE(is_used ? fast[accesses[k + 1]] : carried[b], 0)
            << path << ", access " << accesses[k];
      }
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace mallocmuzero
