// Checks of flags that are numbers. Their errors are one line that says which values are allowed.

#ifndef MALLOCMUZERO_CLI_NUMBER_FLAG_H_
#define MALLOCMUZERO_CLI_NUMBER_FLAG_H_

#include <cstdint>
#include <limits>

#include "CLI/CLI.hpp"

namespace mallocmuzero::cli {

// A whole number from `least` to `most`, in decimal and without leading zeros. CLI11 alone reads -1
// and numbers with too many digits as 2^64-1, and 010 as 8.
CLI::Validator WholeNumber(uint64_t least, uint64_t most = std::numeric_limits<uint64_t>::max());

// A finite number of 0 or more, and one above 0.
CLI::Validator ZeroOrMore();
CLI::Validator AboveZero();

// A number from `least` to `most`, which are finite.
CLI::Validator NumberBetween(double least, double most);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_NUMBER_FLAG_H_
