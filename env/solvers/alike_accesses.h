// Accesses that have the same part in the layers of a program.

#ifndef MALLOCMUZERO_ENV_SOLVERS_ALIKE_ACCESSES_H_
#define MALLOCMUZERO_ENV_SOLVERS_ALIKE_ACCESSES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/solvers/program_facts.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A model repeats its layers, and the compiler makes alike instructions of each. Two accesses are
// alike if they are of the same kind, to buffers of the same size, at the same place in
// instructions that have as many accesses, run as often and take the same cycles, and if both save
// the same cycles. Their surroundings must agree as well, two steps far: the accesses of the same
// instruction, and those before and after in the value.
//
// Immutable.
class AlikeAccesses {
 public:
  // In O(accesses times the accesses of an instruction).
  explicit AlikeAccesses(const ProgramFacts& facts);

  // The movable accesses that are alike to this one, ascending, itself included if it is movable.
  absl::Span<const AccessIndex> To(AccessIndex access) const { return classes_[class_of_[access]]; }

  // False if no two movable accesses are alike.
  bool any() const { return any_; }

 private:
  IndexVector<AccessIndex, uint32_t> class_of_;
  std::vector<std::vector<AccessIndex>> classes_;
  bool any_ = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_ALIKE_ACCESSES_H_
