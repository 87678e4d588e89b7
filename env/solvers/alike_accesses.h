// Accesses that have the same part in the layers of a program.

#ifndef MALLOCMUZERO_ENV_SOLVERS_ALIKE_ACCESSES_H_
#define MALLOCMUZERO_ENV_SOLVERS_ALIKE_ACCESSES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/solvers/program_facts.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A model repeats its layers, and the compiler makes alike instructions of each. For two alike
// accesses these are the same:
//   - the kind, the size of the buffer, and the cycles that fast memory saves;
//   - the instruction's number of accesses, executions and cycles, and the access's place in it;
//   - the surroundings, two steps far: the accesses of the same instruction, and those before and
//     after in the value.
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
