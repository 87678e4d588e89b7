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

// Most columns are fields of simulator/core/program_types.h. The others are:
//   cycles, fast_cycles  of one execution of an instruction: with all accesses in HBM, and with
//                        all in fast memory
//   default_fast         1 if the default has an access in fast memory, 0 if not, and -1 if there
//                        is no default
Columns InstructionColumns(const Program& program);
Columns AccessColumns(const Program& program);
Columns BufferColumns(const Program& program);

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_PROGRAM_COLUMNS_H_
