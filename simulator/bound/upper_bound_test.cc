#include "simulator/bound/upper_bound.h"
#include <cstdio>
#include <cstdlib>
#include "absl/time/clock.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/tiny_program.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

TEST(UpperBound, Explore) {
  const char* path = std::getenv("PROGRAM");
  if (path == nullptr) GTEST_SKIP();
  auto program = LoadProgram(path);
  ASSERT_TRUE(program.ok());
  const double hbm = SimulateAllHbm(*program).total_cycles;
  const double fast = AllFastCycles(*program);
  const double def = program->baseline()->compiled_cycles;
  const double known = hbm - std::atof(std::getenv("KNOWN"));
  for (uint32_t steps : {500u, 2000u, 20000u}) {
    const auto start = absl::Now();
    const UpperBound b = FindUpperBound(*program, {.steps = steps, .known_saved_cycles = known});
    std::printf("steps %6u %6u %7.3f s: fast saves %.3f%% known %.3f%% bound %.3f%%  closes %.3f  | against default: known %.2f%% bound %.2f%%\n", steps, b.steps,
                absl::ToDoubleSeconds(absl::Now() - start), 100 * (1 - fast / hbm), 100 * known / hbm,
                100 * b.saved_cycles / hbm, ((hbm - fast) - b.saved_cycles) / ((hbm - fast) - known),
                100 * (1 - (hbm - known) / def), 100 * (1 - (hbm - b.saved_cycles) / def));
  }
}

TEST(UpperBound, IsAtLeastTheBestGameOfTinyPrograms) {
  std::mt19937_64 random(1);
  double closed = 0;
  int closeable = 0;
  for (int k = 0; k < 300; ++k) {
    auto played = PlayedProgram::Create(testing::TinyProgram(random, 8));
    ASSERT_TRUE(played.ok());
    const auto solution = Solve(solver_name::kExhaustive, (*played)->rules(), {});
    ASSERT_TRUE(solution.ok()) << solution.status();
    const double hbm = (*played)->rules().all_hbm_cycles();
    const double saved = hbm - solution->cycles;
    const UpperBound b = FindUpperBound((*played)->program(), {.known_saved_cycles = 0});
    EXPECT_GE(b.saved_cycles, saved * (1 - 1e-9)) << k;
    if (b.saved_cycles < saved * (1 - 1e-9)) {
      const Program& p = (*played)->program();
      std::printf("cap %ld align %ld rate %f\n", long(p.hardware().fast_memory_bytes()), long(p.hardware().fast_memory_alignment_bytes()), p.hardware().hbm_bytes_per_cycle());
      for (uint32_t i = 0; i < p.instruction_count(); ++i) {
        const auto& ins = p.instructions()[i];
        std::printf("i%u kind %d count %f cycles %f fast %f :", i, int(ins.kind), ins.execution_count, p.latency().Cycles(i,0), p.latency().Cycles(i,(1<<ins.access_count)-1));
        for (uint32_t k = 0; k < ins.access_count; ++k) { const auto& a = p.accesses()[ins.first_access+k]; std::printf(" %c b%u(%ld, %d..%d%s%s) fast=%d", "RWU"[int(a.kind)], a.buffer, long(p.buffers()[a.buffer].bytes), p.buffers()[a.buffer].first, p.buffers()[a.buffer].last, p.buffers()[a.buffer].live_in?" in":"", p.buffers()[a.buffer].live_out?" out":"", solution->mapping.in_fast_memory[ins.first_access+k]); }
        std::printf("\n");
      }
      for (auto& iv : solution->mapping.intervals) std::printf("b%u [%u,%u] @%ld in %d-%d out %d-%d cpp %d\n", iv.buffer, iv.first, iv.last, long(iv.offset), iv.copy_in_start, iv.copy_in_done, iv.copy_out_start, iv.copy_out_done, iv.cross_program_prefetch);
      return;
    }
    const double fast = hbm - AllFastCycles((*played)->program());
    if (fast > saved * 1.001) {
      closed += (fast - b.saved_cycles) / (fast - saved);
      ++closeable;
    }
  }
  std::printf("closed %f of %d\n", closed / closeable, closeable);
}

}  // namespace
}  // namespace mallocmuzero
