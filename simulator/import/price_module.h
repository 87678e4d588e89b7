// The price of a compiled module as it stands: the compiler's estimates, the roofline where it
// gives none, and the stalls of the copies between memories that the text shows.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_PRICE_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_PRICE_MODULE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/import/analyzed_module.h"

namespace mallocmuzero {

// Cycles, bytes and copies of one run, execution counts included.
struct ModulePrice {
  double estimated_cycles = 0;  // instructions with estimated_cycles
  double modelled_cycles = 0;   // instructions without
  double stall_cycles = 0;      // copies not finished at their copy-done
  double bytes_accessed = 0;    // by instructions, copies not counted
  double hbm_bytes = 0;         // of them from or to HBM
  uint32_t copies = 0;          // cross-program prefetch excluded

  double total_cycles() const { return estimated_cycles + modelled_cycles + stall_cycles; }
};

// Walks the schedule once, as Simulate does for a program (simulator/core/simulate.h): a copy is
// queued at its start and waited for at its done; the cross-program prefetch is free.
ModulePrice PriceSchedule(const AnalyzedModule& analyzed, const v1::Hardware& hardware);

// Reads a file (as ReadModule does) and prices it. Errors name file, line and column.
absl::StatusOr<v1::PriceReport> PriceModule(const std::string& path, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_PRICE_MODULE_H_
