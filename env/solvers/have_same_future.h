// Whether two games at one access will go on alike.

#ifndef MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_
#define MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_

#include "env/game.h"

namespace mallocmuzero {

// Whether the games have, for the accesses to come, the same values in fast memory and in HBM, held
// for the same time, and as many bytes of write-backs to move. The addresses and the bandwidth that
// earlier copies took may differ. So a true answer is an assumption: the same actions mostly gain
// the same from here on. Takes time in the number of values in fast memory and on their way to HBM.
// The games must have the same rules.
bool HaveSameFuture(const Game& a, const Game& b);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_
