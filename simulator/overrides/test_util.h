// Programs with a default mapping, for the tests of this folder.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_TEST_UTIL_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_TEST_UTIL_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::testing {

inline Program MustSeal(v1::Program proto) {
  SealProgram(proto);
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  if (!program.ok()) {
    std::cerr << program.status() << "\n";
    std::abort();
  }
  return *std::move(program);
}

// The program with a default that has those accesses in fast memory, one digit an access: "0110".
inline Program WithDefault(v1::Program proto, const std::string& fast) {
  v1::Mapping& mapping = *proto.mutable_baseline()->mutable_mapping();
  mapping.clear_in_fast_memory();
  for (const char digit : fast) mapping.add_in_fast_memory(digit == '1');
  return MustSeal(std::move(proto));
}

// A mapping with those accesses in fast memory.
inline Mapping Wanted(const std::string& fast, std::vector<Interval> intervals = {}) {
  Mapping mapping;
  for (const char digit : fast) mapping.in_fast_memory.push_back(digit == '1' ? 1 : 0);
  mapping.intervals = std::move(intervals);
  return mapping;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_TEST_UTIL_H_
