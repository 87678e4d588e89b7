// Describes a parsed module in lines, so that tests can compare two modules.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// One line for the header, for each computation and for each instruction. The lines contain all
// fields of module.h except line numbers, and except literals that are neither an integer nor a
// truth value.
std::vector<std::string> Describe(const Module& module);

// The first line in which the descriptions of two modules differ, as it is in both, or "" if they
// are equal.
std::string FirstDifference(const Module& left, const Module& right);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_
