// Local search on programs of several devices.

#include <cstdint>
#include <string>

#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "env/testing/corpus_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

struct ShardedSearch {
  const char* name;
  const char* chip;
};

class LocalSearchOfShardedPrograms : public ::testing::TestWithParam<ShardedSearch> {};

// The default has the arrays of asynchronous collectives in fast memory. A search that could not
// place them would end above it.
TEST_P(LocalSearchOfShardedPrograms, IsAtMostTheDefault) {
  const absl::StatusOr<Program> program =
      testing::ImportSharded(MALLOCMUZERO_SOURCE_DIR, GetParam().name, GetParam().chip);
  ASSERT_TRUE(program.ok()) << program.status();
  const ProgramRules rules = ProgramRules::Create(*program);
  SolveOptions options;
  options.max_games = 3000;
  const absl::StatusOr<Solution> found = Solve("local_search", rules, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(found->cycles, program->baseline()->compiled_cycles);
  EXPECT_THAT(Validate(*program, found->mapping), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Programs, LocalSearchOfShardedPrograms,
                         ::testing::Values(ShardedSearch{"fsdp", "tpu_v5e"},
                                           ShardedSearch{"ring", "tpu_v6e"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace mallocmuzero
