// From accesses of a program to the places in HLO that overrides name.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_POSITIONS_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_POSITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/overrides/override_text.h"

namespace mallocmuzero {

// HLO name of an instruction of the program.
const std::string& InstructionName(const Program& program, uint32_t instruction);

// Where the instruction of a writing access defines the value: mostly one place.
std::vector<Definition> DefinitionsOf(const Program& program, uint32_t access);

// The parameter or constant that a program input comes from; none for other buffers.
std::vector<Definition> InputDefinition(const Program& program, uint32_t buffer);

// Operands by which an access reads, each bounded in size where it takes that to tell it from an
// output of the instruction. Where no bound can, as operand and output are equally long, the
// operand is left out unless `wanted` has the output in the same memory as the access.
std::vector<Use> UsesOf(const Program& program, uint32_t access, const Mapping& wanted);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_POSITIONS_H_
