// The text that `import` prints.

#ifndef MALLOCMUZERO_CLI_IMPORT_TEXT_H_
#define MALLOCMUZERO_CLI_IMPORT_TEXT_H_

#include <string>

#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// Size and prices, calibration with a row for each placement left out, instructions that no other
// compile has, unknown opcodes and notes. `report` is the report of `program`.
std::string ImportText(const v1::ImportReport& report, const Program& program);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_IMPORT_TEXT_H_
