#include "env/solvers/program_facts.h"

#include "simulator/core/savings.h"

namespace mallocmuzero {

ProgramFacts::ProgramFacts(const ProgramRules& rules)
    : rules_(rules),
      values_(FindValues(rules.program())),
      value_of_(rules.access_count()),
      position_of_(rules.access_count()),
      savings_(FindSavings(rules.program())),
      cycles_before_(CyclesBefore(rules.program())) {
  for (const AccessIndex a : program().accesses().indices()) movable_count_ += IsMovable(a) ? 1 : 0;
  for (const ValueIndex v : values_.indices()) {
    for (uint32_t k = 0; k < values_[v].accesses.size(); ++k) {
      value_of_[values_[v].accesses[k]] = v;
      position_of_[values_[v].accesses[k]] = k;
    }
  }
}

}  // namespace mallocmuzero
