// The roofline that prices instructions without an estimate of the compiler: the longer of the time
// to compute and the time to move bytes. As in XLA's memory space assignment
// (xla/service/memory_space_assignment/cost_analysis.cc, GetInstructionElapsedInAlternateMemory).

#ifndef MALLOCMUZERO_SIMULATOR_CORE_ROOFLINE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_ROOFLINE_H_

#include "mallocmuzero/v1/hardware.pb.h"

namespace mallocmuzero {

// Bytes that one execution moves, by memory.
struct MovedBytes {
  double hbm = 0;
  double fast_read = 0;
  double fast_written = 0;
};

// Cycles to move the bytes, one memory after the other.
inline double CyclesToMove(const MovedBytes& bytes, const v1::Hardware& hardware) {
  return bytes.hbm / hardware.hbm_bytes_per_cycle() +
         bytes.fast_read / hardware.fast_memory_read_bytes_per_cycle() +
         bytes.fast_written / hardware.fast_memory_write_bytes_per_cycle();
}

// Cycles to compute.
inline double CyclesToCompute(double flops, const v1::Hardware& hardware) {
  return flops / hardware.flops_per_cycle();
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_ROOFLINE_H_
