#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/testing/random_case.h"

namespace mallocmuzero::testing {
namespace {

class ProgramMaker {
 public:
  explicit ProgramMaker(std::mt19937_64& random) : random_(random) {}

  Program Make() {
    std::vector<BufferIndex> inputs;
    for (int k = Uniform(1, 4); k > 0; --k) inputs.push_back(NewBuffer({.live_in = true}));
    Block(inputs, 0);
    return builder_.Build();
  }

 private:
  int Uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Uniform(1, 100) <= percent; }

  BufferIndex NewBuffer(BufferSpec spec = {}) {
    // not always a multiple of the alignment
    return builder_.AddBuffer(int64_t{8} * Uniform(1, 40), spec);
  }
  BufferIndex NewValue(int depth) { return NewBuffer({.live_out = depth == 0 && Chance(30)}); }
  void AddInstruction(const std::vector<AccessSpec>& accesses) {
    builder_.AddInstruction(10, accesses);
  }

  // Adds instructions to a block. `visible` are the buffers of this block and of those around it.
  // The block's own buffers come last; the block may update only these, from the index
  // `visible.size()` at the start on.
  void Block(std::vector<BufferIndex> visible, int depth) {
    const size_t outside = depth == 0 ? 0 : visible.size();
    for (int k = Uniform(2, 5); k > 0; --k) {
      if (depth < 2 && Chance(25)) {
        visible.push_back(AddLoop(visible, depth));
      } else if (Chance(15)) {
        AddInstruction({});
      } else {
        AddStep(visible, outside, depth);
      }
    }
  }

  // Adds an instruction that reads one or two buffers, and writes a new one or updates one of the
  // block's own.
  void AddStep(std::vector<BufferIndex>& visible, size_t outside, int depth) {
    std::vector<BufferIndex> chosen;
    std::sample(visible.begin(), visible.end(), std::back_inserter(chosen), Uniform(1, 2), random_);
    std::vector<AccessSpec> accesses;
    for (const BufferIndex buffer : chosen) accesses.push_back(Read(buffer));
    const auto own = std::find(visible.begin() + outside, visible.end(), chosen.back());
    if (own != visible.end() && Chance(30)) {
      accesses.back() = Update(chosen.back());
    } else {
      visible.push_back(NewValue(depth));
      accesses.push_back(Write(visible.back()));
    }
    AddInstruction(accesses);
  }

  // Adds a loop that carries one value; returns its result. Parameter and result are accessed
  // before any inner loop is added, because live ranges are derived from accesses.
  BufferIndex AddLoop(const std::vector<BufferIndex>& visible, int depth) {
    const BufferIndex initial = NewBuffer();
    const BufferIndex parameter = NewBuffer();
    const BufferIndex last_use = NewBuffer();
    const BufferIndex root = NewBuffer();
    const BufferIndex result = NewValue(depth);
    AddInstruction({Read(visible.front()), Write(initial)});
    const LoopIndex loop = builder_.BeginLoop(Uniform(1, 9));
    AddInstruction({Chance(30) ? Update(parameter) : Read(parameter)});
    std::vector<BufferIndex> inside = visible;
    inside.push_back(parameter);
    Block(inside, depth + 1);
    AddInstruction({Read(parameter), Write(last_use)});
    AddInstruction({Read(last_use), Write(root)});
    if (Chance(50)) AddInstruction({});
    builder_.EndLoop();
    AddInstruction({Chance(30) ? Update(result) : Read(result)});
    builder_.AddCarriedGroup(loop, initial, parameter, root, result);
    return result;
  }

  std::mt19937_64& random_;
  ProgramBuilder builder_;
};

}  // namespace

Program RandomProgram(std::mt19937_64& random) { return ProgramMaker(random).Make(); }

}  // namespace mallocmuzero::testing
