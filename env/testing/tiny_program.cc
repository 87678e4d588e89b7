#include "env/testing/tiny_program.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::testing {

Program TinyProgram(std::mt19937_64& random, uint32_t max_accesses) {
  const auto uniform = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(256);
  std::vector<BufferIndex> visible;
  std::vector<BufferIndex> unread;  // written and not read yet
  for (int k = 0; k < 2; ++k) {
    visible.push_back(builder.AddBuffer(int64_t{16} * uniform(3, 10), {.live_in = true}));
  }
  const int steps = uniform(4, 7);
  const int loop_at = uniform(0, 2 * steps);  // beyond the program: none
  uint32_t accesses_left = max_accesses;
  for (int step = 0; step < steps && accesses_left >= 2; ++step) {
    const bool in_loop = step == loop_at;
    if (in_loop) builder.BeginLoop(uniform(2, 4));
    std::vector<BufferIndex> chosen;
    std::sample(visible.begin(), visible.end(), std::back_inserter(chosen),
                uniform(1, accesses_left >= 3 ? 2 : 1), random);
    // A value can only be written to fast memory if it is read later.
    if (!unread.empty() && !absl::c_linear_search(chosen, unread.front())) {
      chosen.front() = unread.front();
    }
    for (const BufferIndex b : chosen) std::erase(unread, b);
    std::vector<AccessSpec> accesses;
    for (const BufferIndex b : chosen) accesses.push_back(Read(b, uniform(0, 12)));
    if (!in_loop && uniform(0, 3) == 0) {
      accesses.back() = Update(chosen.back(), uniform(0, 12));
    } else {
      const int64_t bytes = int64_t{16} * uniform(3, 10);
      const BufferIndex made = builder.AddBuffer(bytes, {.live_out = uniform(0, 3) == 0});
      accesses.push_back(Write(made, uniform(0, 12)));
      if (!in_loop) {
        visible.push_back(made);
        unread.push_back(made);
      }
    }
    builder.AddInstruction(uniform(10, 40), accesses);
    accesses_left -= accesses.size();
    if (in_loop) builder.EndLoop();
  }
  return builder.Build();
}

}  // namespace mallocmuzero::testing
