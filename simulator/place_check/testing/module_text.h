// Makes modules from a few lines of text, for tests of the check.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_MODULE_TEXT_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_MODULE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place_check {

// The module that `text` describes. Each line is one of these:
//
// computation NAME            Begins a computation; its instructions follow. Callees come first.
// entry NAME                  The same, for the entry computation.
// [ROOT] NAME = SHAPE OPCODE(NAME, ...) [KEY=VALUE ...]
// swap COMPUTATION NAME NAME  Swaps two instructions in the sequence, which is the order of lines.
// unschedule COMPUTATION NAME Removes an instruction from the sequence.
// repeat COMPUTATION NAME     Appends an instruction to the sequence.
// alias PARAMETER [OUTPUT]    Result OUTPUT (or the whole result) is written over the parameter.
// prefetch PARAMETER          Adds an entry to cross_program_prefetches.
//
// SHAPE is f32[8,128], f32[8,128]S1 in space 1, or (SHAPE, ...). KEY is number (of a parameter),
// index (of an element), calls (NAME,NAME), slice (0:4,0:128), target, value (of a constant), or
// config. KEY may also be after (control predecessor), over (OPERAND or OPERAND:ELEMENT, which
// output_operand_aliasing names), prefetch (index), effect (1: side effect), or stated (1:
// operand_shapes_with_layout is given). Aborts on anything else.
xla::HloModuleProto ModuleFromText(absl::string_view text);

// `text` with its only occurrence of `from` replaced by `to`. Aborts if there is none or more than
// one.
std::string Replaced(absl::string_view text, absl::string_view from, absl::string_view to);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TESTING_MODULE_TEXT_H_
