#include "env/testing/random_program_set.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "env/testing/random_game_program.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

ProgramSet RandomProgramSet(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Program> programs;
  while (programs.size() < count) {
    v1::Program proto = RandomGameProgram(random).proto();
    proto.set_name(absl::StrCat("program_", programs.size()));
    SealProgram(proto);
    const std::unique_ptr<PlayedProgram> played = PlayedProgram::Create(*Program::FromProto(proto));
    if (played->decisions() > 8 && played->decisions() < 40) {
      programs.push_back(*Program::FromProto(std::move(proto)));
    }
  }
  return *ProgramSet::Create(std::move(programs));
}

}  // namespace mallocmuzero::testing
