// Writes tiny programs whose best game is known: tiny_programs FOLDER COUNT SEED.
//
// Output for scripts/learning-tiny: FOLDER/tiny_N.program, and FOLDER/optimum.csv with name,
// decisions, and the cycles of the optimum and of the greedy player. Each program has 10 or more
// decisions in the greedy player's game, and that game is not optimal.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "env/testing/tiny_program.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kAccesses = 16;
constexpr uint32_t kLeastDecisions = 10;

absl::Status WritePrograms(const std::string& folder, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string table = "name,decisions,optimum,greedy\n";
  for (int written = 0; written < count;) {
    v1::Program proto = testing::TinyProgram(random, kAccesses).proto();
    proto.set_name(absl::StrCat("tiny_", written));
    SealProgram(proto);
    const auto program = PlayedProgram::Create(*Program::FromProto(proto));
    if (program->decisions() < kLeastDecisions) continue;
    const absl::StatusOr<Solution> greedy = Solve("greedy", program->rules(), {});
    if (!greedy.ok()) return greedy.status();
    const absl::StatusOr<Solution> optimum = Solve("exhaustive", program->rules(), {});
    if (!optimum.ok()) return optimum.status();
    if (greedy->cycles <= optimum->cycles) continue;
    MMZ_RETURN_IF_ERROR(WriteMessage(absl::StrCat(folder, "/", proto.name(), ".program"), proto));
    absl::StrAppendFormat(&table, "%s,%u,%.17g,%.17g\n", proto.name(), program->decisions(),
                          optimum->cycles, greedy->cycles);
    ++written;
  }
  return WriteFileAtomically(folder + "/optimum.csv", table);
}

}  // namespace
}  // namespace mallocmuzero

int main(int argc, char** argv) {
  int count = 0;
  uint64_t seed = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &count) || !absl::SimpleAtoi(argv[3], &seed)) {
    std::fputs("usage: tiny_programs FOLDER COUNT SEED\n", stderr);
    return 2;
  }
  std::error_code error;
  std::filesystem::create_directories(argv[1], error);
  const absl::Status status = mallocmuzero::WritePrograms(argv[1], count, seed);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tiny_programs: %s\n", status.ToString().c_str());
  return 1;
}
