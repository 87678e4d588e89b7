// The incumbent that the observations of a recorded game showed.

#ifndef MALLOCMUZERO_ENV_RECORDED_INCUMBENT_H_
#define MALLOCMUZERO_ENV_RECORDED_INCUMBENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "env/observation.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Trajectory.Incumbent.in_fast_memory for one flag for each access.
std::string FastMemoryBits(IndexSpan<AccessIndex, const uint8_t> in_fast_memory);

// The size of this field for a program of so many accesses.
size_t FastMemoryBytes(size_t accesses);

// Not thread-safe.
class RecordedIncumbent {
 public:
  // The trajectory must outlive it, have passed CheckTrajectory, and be of a program of so many
  // accesses.
  RecordedIncumbent(const v1::Trajectory& trajectory, size_t accesses);

  // What the observation of a decision showed; null if it showed no incumbent. Valid until the next
  // call.
  const ShownIncumbent* At(size_t decision);

 private:
  const v1::Trajectory& trajectory_;
  IndexVector<AccessIndex, uint8_t> in_fast_memory_;
  ShownIncumbent shown_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_RECORDED_INCUMBENT_H_
