// The price of a program under a mapping, as a report and as text.

#ifndef MALLOCMUZERO_CLI_PRICE_REPORT_H_
#define MALLOCMUZERO_CLI_PRICE_REPORT_H_

#include <string>

#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// All fields of PriceReport. default_cycles is the price of the compiled default as it stands;
// absent if the program has no baseline.
v1::PriceReport MakePriceReport(const Program& program, const Mapping& mapping);

// Total, its parts, and how it compares with everything in HBM and with the default where known.
std::string PriceText(const v1::PriceReport& report);

// Cycles and, if the default's are known, how they compare: "32.836 Mcycles, 1.20 % below the
// default".
std::string ComparedCycles(double cycles, bool has_default, double default_cycles);

// The `count` instructions that take most cycles under `mapping`, executions included and waiting
// for copies excluded, as a table.
std::string CostliestInstructions(const Program& program, const Mapping& mapping, int count);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PRICE_REPORT_H_
