// Random programs whose carried groups no compiler would make.

#ifndef MALLOCMUZERO_ENV_TESTING_ODD_GROUP_PROGRAM_H_
#define MALLOCMUZERO_ENV_TESTING_ODD_GROUP_PROGRAM_H_

#include <cstdint>
#include <random>

#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// A RandomGameProgram with up to six changes that FromProto accepts: buffers of groups exchanged
// for others, of the same group, of other groups or of none; groups added, or moved to other loops;
// accesses made to group members wherever they stand, of other kinds than before; members made
// live-in or live-out; live ranges made longer. The program need not make sense: if it uses values
// before they are made, no mapping is valid.
Program OddGroupProgram(std::mt19937_64& random);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_ODD_GROUP_PROGRAM_H_
