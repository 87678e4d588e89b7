// Checks of flags that are numbers, with errors of one line that say what would be right.

#ifndef MALLOCMUZERO_CLI_NUMBER_FLAG_H_
#define MALLOCMUZERO_CLI_NUMBER_FLAG_H_

#include <cstdint>
#include <limits>

#include "CLI/CLI.hpp"

namespace mallocmuzero::cli {

// A whole number from `least` to `most`, in decimal and without zeros in front. CLI11 alone takes
// -1 for 2^64-1, what has too many digits for 2^64-1 as well, and 010 for 8.
CLI::Validator WholeNumber(uint64_t least, uint64_t most = std::numeric_limits<uint64_t>::max());

// A finite number of 0 or more, and one above 0.
CLI::Validator ZeroOrMore();
CLI::Validator AboveZero();

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_NUMBER_FLAG_H_
