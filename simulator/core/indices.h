// The kinds of indices into a program.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_INDICES_H_
#define MALLOCMUZERO_SIMULATOR_CORE_INDICES_H_

#include "base/index.h"

namespace mallocmuzero {

// Into Program::instructions. Also a point in time: the point just before the instruction. The
// point after the last instruction is the number of instructions.
using InstructionIndex = Index<struct InstructionTag>;

using AccessIndex = Index<struct AccessTag>;              // into Program::accesses
using BufferIndex = Index<struct BufferTag>;              // into Program::buffers
using LoopIndex = Index<struct LoopTag>;                  // into Program::loops
using CarriedGroupIndex = Index<struct CarriedGroupTag>;  // into Program::carried_groups
using ValueIndex = Index<struct ValueTag>;                // into the result of FindValues

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_INDICES_H_
