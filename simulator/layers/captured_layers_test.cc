// Repeats layers of captured programs, and compares with captured programs of deeper models.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/layers/repeat_layers.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

struct Depths {
  std::string chip;
  std::string model;  // such as "gpt"
  std::string rest;   // of the name, behind the number of layers
  int32_t from = 0;
  int32_t to = 0;

  // How far around an instruction the programs are the same: its own buffers are 1 step away, the
  // other users of these 2, and so on.
  int32_t steps = 0;

  std::string NameOf(int32_t layers) const { return absl::StrCat(model, "_", layers, rest); }
  Program Load(int32_t layers) const {
    absl::StatusOr<Program> program = LoadProgram(absl::StrCat(
        MALLOCMUZERO_SOURCE_DIR "/bench/solvers/captured/", chip, "/", NameOf(layers), ".program"));
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }
};

// The text describes an instruction alone, with its operation, its cycles, and what it does to
// buffers. The tuple at the end of a program counts all results of the model, so it is left out.
std::string KindOf(const Program& program, InstructionIndex i) {
  const v1::Instruction& message = program.MessageOf(i);
  if (message.opcode() == "tuple") return "tuple";
  std::string kind = absl::StrCat(message.opcode(), " ", message.op_name(), " ",
                                  message.fixed_hbm_bytes(), " ", program.latency().Cycles(i, 0));
  for (const Access& access : program.AccessesOfInstruction(i)) {
    const Buffer& buffer = program.buffers()[access.buffer];
    absl::StrAppend(&kind, " ", static_cast<int>(access.kind), ":", access.bytes, ":",
                    access.bytes_accessed, ":", buffer.bytes, ":", buffer.live_in, buffer.live_out,
                    buffer.pinned_to_hbm);
  }
  return kind;
}

// Numbers for instructions. Two instructions, also of two programs, have equal numbers if they are
// the same, and all that is at most `steps` steps away from them is.
IndexVector<InstructionIndex, size_t> NumberSurroundings(const Program& program, int32_t steps) {
  IndexVector<InstructionIndex, size_t> numbers(program.instructions().end_index());
  for (const InstructionIndex i : program.instructions().indices()) {
    numbers[i] = absl::HashOf(KindOf(program, i));
  }
  for (int32_t step = 2; step <= steps; step += 2) {
    IndexVector<BufferIndex, size_t> of_buffers(program.buffers().end_index());
    for (const BufferIndex b : program.buffers().indices()) {
      std::vector<std::pair<size_t, int32_t>> users;  // the number, and which access of it
      for (const AccessIndex a : program.AccessesOfBuffer(b)) {
        const InstructionIndex i = program.accesses()[a].instruction;
        users.emplace_back(numbers[i], a - program.instructions()[i].first_access);
      }
      std::sort(users.begin(), users.end());
      of_buffers[b] = absl::HashOf(users);
    }
    for (const InstructionIndex i : program.instructions().indices()) {
      for (const Access& access : program.AccessesOfInstruction(i)) {
        numbers[i] = absl::HashOf(numbers[i], of_buffers[access.buffer]);
      }
    }
  }
  return numbers;
}

// The most bytes that are live at an instruction.
int64_t PeakOfLiveBytes(const Program& program) {
  std::vector<int64_t> changes(program.instruction_count() + 1);
  for (const Buffer& buffer : program.buffers()) {
    changes[buffer.first.number()] += buffer.bytes;
    changes[buffer.last.number() + 1] -= buffer.bytes;
  }
  int64_t live = 0;
  int64_t peak = 0;
  for (const int64_t change : changes) peak = std::max(peak, live += change);
  return peak;
}

class CapturedLayers : public ::testing::TestWithParam<Depths> {};

TEST_P(CapturedLayers, RepeatedAreThoseOfTheDeeperModel) {
  const Depths& depths = GetParam();
  const absl::StatusOr<Program> repeated =
      WithModelLayers(depths.Load(depths.from), depths.from, depths.to, "deeper");
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  const Program captured = depths.Load(depths.to);

  std::map<size_t, int32_t> surplus;  // by number, of the captured program
  for (const size_t number : NumberSurroundings(captured, depths.steps)) ++surplus[number];
  const IndexVector<InstructionIndex, size_t> numbers = NumberSurroundings(*repeated, depths.steps);
  std::vector<std::string> not_captured;
  for (const InstructionIndex i : numbers.indices()) {
    if (--surplus[numbers[i]] < 0) not_captured.push_back(repeated->MessageOf(i).name());
  }
  EXPECT_THAT(not_captured, IsEmpty());
  EXPECT_EQ(repeated->instruction_count(), captured.instruction_count());
  EXPECT_EQ(repeated->access_count(), captured.access_count());
  EXPECT_EQ(repeated->buffer_count(), captured.buffer_count());
  // The order of some instructions differs, and with it what is live at the same time.
  const auto peak = static_cast<double>(PeakOfLiveBytes(captured));
  EXPECT_NEAR(static_cast<double>(PeakOfLiveBytes(*repeated)) / peak, 1, 0.005);
}

TEST_P(CapturedLayers, GrowTheDeeperModelAsItGrewFromTheOther) {
  const Depths& depths = GetParam();
  const Program less_deep = depths.Load(depths.from);
  const Program captured = depths.Load(depths.to);
  const int32_t added = depths.to - depths.from;
  const absl::StatusOr<Program> repeated =
      WithModelLayers(captured, depths.to, depths.to + added, "deeper");
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->instruction_count() - captured.instruction_count(),
            captured.instruction_count() - less_deep.instruction_count());
  EXPECT_EQ(repeated->access_count() - captured.access_count(),
            captured.access_count() - less_deep.access_count());
  EXPECT_EQ(repeated->buffer_count() - captured.buffer_count(),
            captured.buffer_count() - less_deep.buffer_count());
}

constexpr int32_t kWholeProgram = 200;

INSTANTIATE_TEST_SUITE_P(
    Ladder, CapturedLayers,
    ::testing::Values(
        Depths{"tpu_v4i", "gpt", "x512_train_b4x256", 7, 14, kWholeProgram},
        Depths{"tpu_v4i", "llama", "x512_train_b4x256", 7, 14, kWholeProgram},
        Depths{"tpu_v4i", "switch", "x512_e8_train_b4x256", 7, 14, kWholeProgram},
        Depths{"tpu_v4i", "dit", "x512_train_b8x256", 7, 14, kWholeProgram},
        Depths{"tpu_v6e", "switch", "x512_e8_train_b4x256", 7, 14, kWholeProgram},
        // The compiler fuses some updates of two layers, and of other two in the deeper model.
        Depths{"tpu_v6e", "llama", "x512_train_b4x256", 7, 14, 2},
        Depths{"tpu_v6e", "gpt", "x512_train_b4x256", 14, 28, 1},
        Depths{"tpu_v6e", "dit", "x512_train_b8x256", 14, 28, 1}),
    [](const auto& info) {
      return absl::StrCat(info.param.chip, "_", info.param.model, "_", info.param.to);
    });

}  // namespace
}  // namespace mallocmuzero
