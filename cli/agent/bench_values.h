// `mallocmuzero bench values`.

#ifndef MALLOCMUZERO_CLI_AGENT_BENCH_VALUES_H_
#define MALLOCMUZERO_CLI_AGENT_BENCH_VALUES_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds it to `bench`.
void AddBenchValues(CLI::App& bench, CommandBody& body);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_BENCH_VALUES_H_
