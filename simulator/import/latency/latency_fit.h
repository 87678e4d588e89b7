// Fits the latency table: predicts an instruction's cycles under every placement from the
// compiler's estimates under several. docs/cost-model.md explains the formulas and how well they
// predict.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_LATENCY_FIT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_LATENCY_FIT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/matching/placement.h"

namespace mallocmuzero {

// Classes of instructions that the compiler prices alike.
struct LatencyClasses {
  std::vector<uint32_t> class_of;        // for each instruction of the program
  std::vector<uint32_t> representative;  // for each class: its first instruction
  std::vector<double> flops;             // for each class: flops of one execution
  std::vector<double> link_bytes;        // for each class: those of a collective (CountLinkBytes)
};

// Groups the instructions of `program`, which was assembled from `all_hbm`, by their Signatures and
// by the operands that form each access.
LatencyClasses ClassifyInstructions(const v1::Program& program, const AnalyzedModule& all_hbm);

// Fits a table to all placements except number `left_out` (-1: to all). The first placement must be
// the one with everything in HBM; it is always used. `stop` is asked before each class is fitted:
// true ends the fit with Cancelled.
absl::StatusOr<v1::LatencyTable> FitLatencyTable(
    const v1::Program& program, const LatencyClasses& classes,
    absl::Span<const Placement> placements, int left_out,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_LATENCY_FIT_H_
