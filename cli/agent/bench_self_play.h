// `mallocmuzero bench self-play`.

#ifndef MALLOCMUZERO_CLI_AGENT_BENCH_SELF_PLAY_H_
#define MALLOCMUZERO_CLI_AGENT_BENCH_SELF_PLAY_H_

#include <cstdint>

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds it to `bench`.
void AddBenchSelfPlay(CLI::App& bench, CommandBody& body);

// Games to have ready, of so many decisions each: more than can be played in the time, but no more
// than a million besides those in flight, as each takes memory.
uint64_t GamesToHaveReady(double seconds, uint32_t threads, uint32_t batch, uint32_t decisions);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_BENCH_SELF_PLAY_H_
