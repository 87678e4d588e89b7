// `mallocmuzero bench search`.

#ifndef MALLOCMUZERO_CLI_AGENT_BENCH_SEARCH_H_
#define MALLOCMUZERO_CLI_AGENT_BENCH_SEARCH_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds it to `bench`.
void AddBenchSearch(CLI::App& bench, CommandBody& body);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_BENCH_SEARCH_H_
