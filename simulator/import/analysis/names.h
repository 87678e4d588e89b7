// The names that one array has in a computation: tuples, elements of tuples and bitcasts.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_NAMES_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_NAMES_H_

#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero {

// An array of the result of an instruction of some computation.
struct ResultArray {
  hlo::InstructionIndex instruction = 0;
  hlo::ShapeIndex index;  // {} if the result is an array
};

// Follows names back to the arrays that have them. Remembers what it has followed, because many
// arrays may be behind one long chain of names. The module must outlive the follower.
class NameFollower {
 public:
  // The array of `computation` that `array` is, before tuples, elements of tuples and bitcasts
  // renamed it.
  ResultArray Follow(const hlo::Computation& computation, ResultArray array);

 private:
  using Name = std::tuple<const hlo::Computation*, hlo::InstructionIndex, hlo::ShapeIndex>;

  absl::flat_hash_map<Name, ResultArray> followed_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_NAMES_H_
