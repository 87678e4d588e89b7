// Runs the check on modules that are given as text.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TEST_UTIL_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TEST_UTIL_H_

#include <ostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place_check/check_placed.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"

namespace mallocmuzero {

// GoogleTest prints violations with this function.
inline void PrintTo(const PlacedViolation& violation, std::ostream* os) {
  *os << std::string(PlacedRuleName(violation.rule)) << ": " << violation.message;
}

namespace place_check {

// 64 KiB of fast memory in S(1), and an alignment of 1 byte.
inline PlacedCheckOptions TestOptions() {
  return {.fast_memory_space = 1, .capacity_bytes = 65536};
}

inline PlacedCheck Examine(absl::string_view original, absl::string_view placed,
                           const PlacedCheckOptions& options = TestOptions()) {
  return ExaminePlaced(ModuleFromText(original), ModuleFromText(placed), options);
}

inline std::vector<PlacedViolation> Check(absl::string_view original, absl::string_view placed,
                                          const PlacedCheckOptions& options = TestOptions()) {
  return Examine(original, placed, options).violations;
}

MATCHER_P(Breaks, rule, "breaks " + std::string(PlacedRuleName(rule))) {
  for (const PlacedViolation& violation : arg) {
    if (violation.rule == rule) return true;
  }
  return false;
}

}  // namespace place_check
}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_TEST_UTIL_H_
