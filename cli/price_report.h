// The price of a program under a mapping, as a report and as text.

#ifndef MALLOCMUZERO_CLI_PRICE_REPORT_H_
#define MALLOCMUZERO_CLI_PRICE_REPORT_H_

#include <string>

#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// All fields of PriceReport, with at most `listed` of the costliest instructions. default_cycles is
// the price of the compiled default as it stands; absent if the program has no baseline.
v1::PriceReport MakePriceReport(const Program& program, const Mapping& mapping, int listed);

// Total, its parts, and how it compares with everything in HBM and with the default where known.
std::string PriceText(const v1::PriceReport& report);

// Cycles and, if the default's are known, how they compare: "32.836 Mcycles, 1.20 % below the
// default".
std::string ComparedCycles(double cycles, bool has_default, double default_cycles);

// The notes of the report under a title; "" if there are none.
std::string PriceNotes(const v1::PriceReport& report);

// The costliest instructions of the report as a table with a title; "" if it lists none.
std::string CostliestText(const v1::PriceReport& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PRICE_REPORT_H_
