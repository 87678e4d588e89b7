// The names by which other roles tell actor processes apart.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ACTOR_NAME_H_
#define MALLOCMUZERO_ACTOR_ROLE_ACTOR_NAME_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

// The name of this process, such as "actor.3@host-4711-6742f1a0": role and index, host, process id,
// and the start in hexadecimal Unix seconds, since process ids are reused.
std::string ActorName(uint32_t index, bool reanalyse);

// Draws the seed of random numbers and trajectory ids. It differs in every process.
uint64_t DrawRun(const std::string& actor_name, uint64_t seed);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_NAME_H_
