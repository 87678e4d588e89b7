// A small program and the module that it was imported from, for tests of placements.

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
  std::string path;  // path of the module's file
  xla::HloModuleProto module;
  Program program;
};

// Imports a module, for v6e (fast memory is space 1) unless another chip is named. Aborts if the
// import fails.
Placeable Import(xla::HloModuleProto module, const std::string& chip = "tpu_v6e");

// The same, but the module is imported as the compiler's default, too. Pairs that it lists as
// aliasing then share a buffer, since every compile lists them.
Placeable ImportWithDefault(xla::HloModuleProto module, const std::string& chip = "tpu_v6e");

// Index of the instruction of that name in the program.
InstructionIndex Number(const Program& program, absl::string_view instruction);

// The buffer that holds the instruction's result.
BufferIndex BufferMadeBy(const Program& program, absl::string_view instruction);

// Adds an interval, and puts into fast memory all accesses to its buffer from its first to its last
// instruction.
void AddStay(const Program& program, const Interval& stay, Mapping& mapping);

// The mapping with everything in HBM but this stay.
Mapping OneStay(const Program& program, const Interval& stay);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_TESTING_PLACEABLE_H_
