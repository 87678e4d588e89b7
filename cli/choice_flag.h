// Flags whose value is one of a few words.

#ifndef MALLOCMUZERO_CLI_CHOICE_FLAG_H_
#define MALLOCMUZERO_CLI_CHOICE_FLAG_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace mallocmuzero::cli {

// Lets the option take one of `words` only. The help shows them as its type, such as "cpu|cuda".
void TakeOneOf(CLI::Option& option, const std::vector<std::string>& words);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_CHOICE_FLAG_H_
