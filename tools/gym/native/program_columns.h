// The numbers of a program as columns, one for each field, for NumPy.

#ifndef MALLOCMUZERO_TOOLS_GYM_NATIVE_PROGRAM_COLUMNS_H_
#define MALLOCMUZERO_TOOLS_GYM_NATIVE_PROGRAM_COLUMNS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero::gym {

// A name and one entry for each row.
using Column =
    std::pair<std::string,
              std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>>>;
using Columns = std::vector<Column>;

// Fields of simulator/core/program_types.h. The names of fields say what they are; these are not
// fields there: `cycles` and `fast_cycles` of an instruction are those of one execution with all
// accesses in HBM and in fast memory, and `default_fast` of an access is 1 if the compiler has it
// in fast memory, -1 if the program has no default.
Columns InstructionColumns(const Program& program);
Columns AccessColumns(const Program& program);
Columns BufferColumns(const Program& program);

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_PROGRAM_COLUMNS_H_
