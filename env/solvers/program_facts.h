// What solvers look up about a program. Made once a search and shared by its threads.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PROGRAM_FACTS_H_
#define MALLOCMUZERO_ENV_SOLVERS_PROGRAM_FACTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"
#include "simulator/core/values.h"

namespace mallocmuzero {

// Immutable; `rules` must outlive it.
class ProgramFacts {
 public:
  explicit ProgramFacts(const ProgramRules& rules);

  const ProgramRules& rules() const { return rules_; }
  const Program& program() const { return rules_.program(); }

  // All values, by buffer and time.
  IndexSpan<ValueIndex, const Value> values() const { return values_; }

  // The value of an access, as an index into values(), and the access's place in it.
  ValueIndex ValueOf(AccessIndex access) const { return value_of_[access]; }
  uint32_t PositionOf(AccessIndex access) const { return position_of_[access]; }

  // By access: cycles of all executions that fast memory saves if the other accesses of the
  // instruction are in HBM. May be negative.
  IndexSpan<AccessIndex, const double> savings() const { return savings_; }

  // Cycles of all executions before each instruction, and of all instructions, with everything in
  // HBM.
  IndexSpan<InstructionIndex, const double> cycles_before() const { return cycles_before_; }

  // Whether the access may ever be a decision: rules do not keep its buffer in HBM.
  bool IsMovable(AccessIndex access) const {
    return !rules_.buffer(program().accesses()[access].buffer).stays_in_hbm;
  }

  // Whether the program is too long to be searched as a whole.
  bool is_long() const { return movable_count_ > kLongestWhole; }

 private:
  // Movable accesses. Windows help only longer programs reliably (docs/search-scaling-history.md).
  static constexpr uint32_t kLongestWhole = 4096;

  const ProgramRules& rules_;
  IndexVector<ValueIndex, Value> values_;
  IndexVector<AccessIndex, ValueIndex> value_of_;
  IndexVector<AccessIndex, uint32_t> position_of_;
  IndexVector<AccessIndex, double> savings_;
  IndexVector<InstructionIndex, double> cycles_before_;
  uint32_t movable_count_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PROGRAM_FACTS_H_
