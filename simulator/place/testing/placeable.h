// A program of a few lines and the module that it was imported from, for tests of placements.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_TESTING_PLACEABLE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_TESTING_PLACEABLE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::place {

struct Placeable {
  std::string path;  // of the module's file
  xla::HloModuleProto module;
  Program program;
};

// Imports a module, for v6e (fast memory is space 1) unless another chip is named. Aborts if that
// is not possible.
Placeable Import(xla::HloModuleProto module, const std::string& chip = "tpu_v6e");

// The same, with the module as the compiler's default, too. Pairs that it lists as aliasing then
// share a buffer, since every compile lists them.
Placeable ImportWithDefault(xla::HloModuleProto module, const std::string& chip = "tpu_v6e");

// The number of the instruction of that name in the program.
uint32_t Number(const Program& program, absl::string_view instruction);

// The buffer that the instruction's result is in.
uint32_t BufferMadeBy(const Program& program, absl::string_view instruction);

// Puts the accesses to a buffer by the instructions from `first` to `last` into fast memory.
void UseFast(const Program& program, uint32_t buffer, uint32_t first, uint32_t last,
             Mapping& mapping);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_TESTING_PLACEABLE_H_
