// The price of a module as compiled: the compiler's estimates, the roofline for instructions
// without one, and the stalls of the copies between memories that are in the module.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_PRICE_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_PRICE_MODULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// Cycles and bytes of one priced step, with every execution counted and without waits.
struct StepPrice {
  double cycles = 0;
  double bytes_accessed = 0;
  double hbm_bytes = 0;  // the part of them from or to HBM
};

// Cycles, bytes and copies of one run, with every execution counted.
struct ModulePrice {
  double estimated_cycles = 0;  // of instructions with an estimate
  double modelled_cycles = 0;   // of instructions without one
  double stall_cycles = 0;  // waiting at the done of a copy or a collective that is not finished
  double collective_cycles = 0;  // the part of modelled and stall cycles that is for collectives
  double bytes_accessed = 0;     // by instructions; copies are not counted
  double hbm_bytes = 0;          // the part of them from or to HBM
  // in and out; a sliced copy counts once, a cross-program prefetch does not count
  uint32_t copies = 0;
  std::vector<StepPrice> steps;  // one for each of AnalyzedModule::priced

  double total_cycles() const { return estimated_cycles + modelled_cycles + stall_cycles; }
};

// Walks the schedule once, as Simulate does for a program (simulator/core/simulate.h). A copy is
// queued at its start, and the walk waits for it at its done. A cross-program prefetch is free.
ModulePrice PriceSchedule(const AnalyzedModule& analyzed, const v1::Hardware& hardware);

// Reads a file (as ReadModule does) and prices the module. The report lists at most `listed` of the
// costliest instructions. Errors name file, line and column.
absl::StatusOr<v1::PriceReport> PriceModule(const std::string& path, const v1::Hardware& hardware,
                                            int listed = 0);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_PRICE_MODULE_H_
