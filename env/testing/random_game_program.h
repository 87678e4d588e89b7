// Random programs with all that the rules of the game distinguish.

#ifndef MALLOCMUZERO_ENV_TESTING_RANDOM_GAME_PROGRAM_H_
#define MALLOCMUZERO_ENV_TESTING_RANDOM_GAME_PROGRAM_H_

#include <cstdint>
#include <random>

#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// About 10 to 100 instructions of random cycles, savings (some negative) and traffic: buffers
// written more than once, updates in place, live-ins, live-outs, a cross-program
// prefetch, loops up to three deep that carry one to three values each, replaced or changed in
// place, new or from an earlier loop.
Program RandomGameProgram(std::mt19937_64& random);

// The same with asynchronous collectives. Some start in a loop and end after it.
Program RandomProgramWithCollectives(std::mt19937_64& random);

// The same with asynchronous collectives that work on buffers of the instructions that start them,
// which may be in fast memory. Some flights overlap, and in some the buffer is written anew.
Program RandomProgramWithFlights(std::mt19937_64& random);

// A chain of `blocks` equal layers. Each reads its own weights, the result of the layer before, and
// the result of a much earlier layer.
Program LayeredProgram(uint32_t blocks);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_RANDOM_GAME_PROGRAM_H_
