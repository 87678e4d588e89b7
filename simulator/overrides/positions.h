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
const std::string& InstructionName(const Program& program, InstructionIndex instruction);

// The places at which the instruction of a writing access defines the value, mostly one.
std::vector<Definition> DefinitionsOf(const Program& program, AccessIndex access);

// The parameter or constant that a program input comes from; none for other buffers.
std::vector<Definition> InputDefinition(const Program& program, BufferIndex buffer);

// The operands by which an access reads. An override of an operand also applies to an output of the
// instruction with the same tuple index, so that each operand has bounds on its size that tell it
// from such an output. If the output is equally long, no bound can do that, and the operand is left
// out unless `wanted` has the output in the same memory as the access.
std::vector<Use> UsesOf(const Program& program, AccessIndex access, const Mapping& wanted);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_POSITIONS_H_
