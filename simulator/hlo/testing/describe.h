// Everything that the parser makes of a module as lines, to compare two modules by.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// A line for the header, for each computation and for each instruction: all fields of module.h but
// line numbers, and literals that are not one integer or truth value.
std::vector<std::string> Describe(const Module& module);

// The first line in which the descriptions of two modules differ, both variants of it; "" if none.
std::string FirstDifference(const Module& left, const Module& right);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_TESTING_DESCRIBE_H_
