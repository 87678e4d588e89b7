// Counts what one execution of an instruction moves and computes, by the rules of XLA's
// HloCostAnalysis (xla/service/hlo_cost_analysis.cc): bytes of each operand and output array, with
// the padding of tiles, and floating-point operations.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRAFFIC_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "simulator/hlo/module.h"

namespace mallocmuzero {

// a + b for a, b >= 0, but at most INT64_MAX. The size of each array fits into 64 bits; the sum of
// sizes may not.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Bytes of one pointer in a tuple's table in HBM.
inline constexpr int64_t kTuplePointerBytes = 8;

// Bytes that one execution of an instruction moves.
struct ArrayTraffic {
  // Bytes for each operand and each leaf of its shape. A read of a slice counts only the slice. The
  // target of an in-place update counts nothing, because only the update is written.
  std::vector<std::vector<int64_t>> operand_bytes;
  // Bytes for each leaf of the output. An in-place update counts only the update.
  std::vector<int64_t> output_bytes;
  // Bytes of the table of pointers that a tuple instruction writes.
  int64_t pointer_bytes = 0;
};

// Traffic of `instruction`, which must be in `computation`. All zero for forwarding and
// asynchronous instructions.
ArrayTraffic CountTraffic(const hlo::Module& module, const hlo::Computation& computation,
                          const hlo::Instruction& instruction);

// Floating-point operations of `instruction`: two for each multiply-add of a dot or a convolution
// (padding not counted), one for each element of an elementwise result, for a fusion the sum over
// its computation, and for a kernel (Pallas) what its author says.
double CountFlops(const hlo::Module& module, const hlo::Computation& computation,
                  const hlo::Instruction& instruction);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRAFFIC_H_
