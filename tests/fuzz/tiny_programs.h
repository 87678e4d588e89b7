// Programs whose games are short, for fuzzers that play.

#ifndef MALLOCMUZERO_TESTS_FUZZ_TINY_PROGRAMS_H_
#define MALLOCMUZERO_TESTS_FUZZ_TINY_PROGRAMS_H_

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "env/program_set.h"
#include "env/testing/tiny_program.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {

// Two programs of 3 to 6 decisions, the same ones in each process.
inline const ProgramSet& TinyPrograms() {
  static const ProgramSet& programs = *[] {
    std::mt19937_64 random(1);
    std::vector<Program> made;
    while (made.size() < 2) {
      v1::Program proto = testing::TinyProgram(random, 8).proto();
      proto.set_name(absl::StrCat("program_", made.size()));
      SealProgram(proto);
      const auto played = PlayedProgram::Create(Must(Program::FromProto(proto)));
      if (played->decisions() < 3 || played->decisions() > 6) continue;
      made.push_back(Must(Program::FromProto(std::move(proto))));
    }
    return new ProgramSet(Must(ProgramSet::Create(std::move(made))));
  }();
  return programs;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TESTS_FUZZ_TINY_PROGRAMS_H_
