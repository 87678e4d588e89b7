// Shortcuts to make mappings and to match what Validate reports.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_TEST_UTIL_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_TEST_UTIL_H_

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {

// GoogleTest prints violations with this function.
inline void PrintTo(const Violation& violation, std::ostream* os) {
  *os << std::string(RuleName(violation.rule)) << ": " << violation.message;
}

namespace validate {

// A mapping with these intervals, which may be in any order, and these accesses in fast memory.
inline Mapping MakeMapping(const Program& program, std::vector<Interval> intervals,
                           const std::vector<AccessIndex>& fast_accesses) {
  Mapping mapping;
  mapping.intervals = std::move(intervals);
  mapping.in_fast_memory.assign(program.access_count(), 0);
  for (const AccessIndex access : fast_accesses) mapping.in_fast_memory[access] = 1;
  SortIntervals(mapping);
  return mapping;
}

// Matches a list of violations that is not empty and contains only this rule.
MATCHER_P(BreaksOnly, rule, "breaks exactly " + std::string(RuleName(rule))) {
  for (const Violation& violation : arg) {
    if (violation.rule != rule) return false;
  }
  return !arg.empty();
}

MATCHER_P(Breaks, rule, "breaks " + std::string(RuleName(rule))) {
  for (const Violation& violation : arg) {
    if (violation.rule == rule) return true;
  }
  return false;
}

}  // namespace validate
}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_TEST_UTIL_H_
