// Says whether two games of one plan will probably continue in the same way.

#ifndef MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_
#define MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_

#include "env/game.h"
#include "env/solvers/plan.h"

namespace mallocmuzero {

// Whether the games have, for the accesses to come, the same values in fast memory and in HBM, held
// for the same time, and as many bytes of write-backs to move. A value that HBM has, too, may lie
// in the fast memory of one game only if nothing keeps its bytes and the plan does not use them.
// The addresses and the bandwidth that earlier copies took may differ. So a true answer is an
// assumption: the same actions mostly gain the same from here on. Takes time in the number of
// values in fast memory and on their way to HBM. The games must have the same rules and both follow
// `plan` from here on.
bool HaveSameFuture(const Game& a, const Game& b, const Plan& plan);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_HAVE_SAME_FUTURE_H_
