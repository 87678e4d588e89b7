// Parses each compiled program under tests/data/hlo as a whole.

#include "simulator/hlo/testing/corpus.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {
namespace {

constexpr char kFolder[] = MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo";

// Counts instructions without the parser: lines that are indented by two spaces and contain " = ".
int64_t CountInstructionLines(absl::string_view text) {
  int64_t count = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    count += absl::StartsWith(line, "  ") && absl::StrContains(line, " = ");
  }
  return count;
}

TEST(Corpus, EveryProgramParsesWithoutLoss) {
  const absl::StatusOr<std::vector<CorpusFile>> corpus = ReadCorpus(kFolder);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  ASSERT_GE(corpus->size(), 2);
  for (const CorpusFile& file : *corpus) {
    const absl::StatusOr<Module> module = ParseModule(file.text, file.path);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(module->is_scheduled) << file.path;
    EXPECT_TRUE(module->unknown_opcodes.empty()) << file.path;
    int64_t instructions = 0;
    for (const Computation& computation : module->computations) {
      instructions += computation.instructions.size();
    }
    EXPECT_EQ(instructions, CountInstructionLines(file.text)) << file.path;
  }
}

// Bytes of the operand or of the part of the result that position `position` of an aliasing list
// refers to, or -1 if there is none.
int64_t AliasedBytes(const Computation& computation, const Instruction& instruction, int position) {
  const int operands = instruction.operands.size();
  if (position < operands) {
    return ShapeByteSize(computation.instructions[instruction.operands[position]].shape);
  }
  int64_t bytes = -1;
  int leaf_position = operands;
  ForEachLeaf(instruction.shape, [&](absl::Span<const int32_t>, const Shape& leaf) {
    if (leaf_position++ == position) bytes = ShapeByteSize(leaf);
  });
  return bytes;
}

// Evidence that module.h interprets aliasing_operands correctly: positions that share a buffer have
// the same size.
TEST(Corpus, AliasingOperandsNameBuffersOfOneSize) {
  const absl::StatusOr<std::vector<CorpusFile>> corpus = ReadCorpus(kFolder);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  int64_t lists = 0;
  for (const CorpusFile& file : *corpus) {
    const absl::StatusOr<Module> module = ParseModule(file.text, file.path);
    ASSERT_TRUE(module.ok()) << module.status();
    for (const Computation& computation : module->computations) {
      for (const Instruction& instruction : computation.instructions) {
        for (const std::vector<int32_t>& list : instruction.aliasing_operands) {
          ++lists;
          const int64_t bytes = AliasedBytes(computation, instruction, list.front());
          EXPECT_GT(bytes, 0);
          for (const int32_t position : list) {
            EXPECT_EQ(AliasedBytes(computation, instruction, position), bytes)
                << file.path << ":" << instruction.line;
          }
        }
      }
    }
  }
  EXPECT_GT(lists, 0);
}

// The shape as it is in the file, without the parts that ShapeToString leaves out.
TEST(Corpus, ShapesPrintAsTheyStandInTheText) {
  const absl::StatusOr<std::vector<CorpusFile>> corpus = ReadCorpus(kFolder);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  for (const CorpusFile& file : *corpus) {
    const absl::StatusOr<Module> module = ParseModule(file.text, file.path);
    ASSERT_TRUE(module.ok()) << module.status();
    const std::vector<absl::string_view> lines = absl::StrSplit(file.text, '\n');
    for (const Instruction& instruction : module->Entry().instructions) {
      if (instruction.shape.IsTuple()) continue;
      absl::string_view line = lines[instruction.line - 1];
      line.remove_prefix(line.find(" = ") + 3);
      EXPECT_TRUE(absl::ConsumePrefix(&line, ShapeToString(instruction.shape))) << line;
      EXPECT_TRUE(absl::ConsumePrefix(&line, " ")) << line;
    }
  }
}

TEST(Corpus, MissingFolderIsAnError) {
  EXPECT_EQ(ReadCorpus(absl::StrCat(kFolder, "/absent")).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace mallocmuzero::hlo
