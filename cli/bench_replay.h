// `mallocmuzero bench replay`.

#ifndef MALLOCMUZERO_CLI_BENCH_REPLAY_H_
#define MALLOCMUZERO_CLI_BENCH_REPLAY_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds it to `bench`.
void AddBenchReplay(CLI::App& bench, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_BENCH_REPLAY_H_
