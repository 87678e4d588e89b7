// The kinds of indices into the state of a game.

#ifndef MALLOCMUZERO_ENV_INDICES_H_
#define MALLOCMUZERO_ENV_INDICES_H_

#include "base/index.h"

namespace mallocmuzero {

using StayIndex = Index<struct StayTag>;            // into Residency::stays
using WriteBackIndex = Index<struct WriteBackTag>;  // into the write-backs of a CopyTimeline

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_INDICES_H_
