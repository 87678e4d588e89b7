// The programs and settings that a learner has assigned, ready to be played.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_
#define MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "actor/role/learner_client.h"
#include "actor/search/search.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/learner.pb.h"

namespace mallocmuzero {

// Immutable; shared by the threads that play.
struct AssignedPrograms {
  v1::Assignment assignment;
  ProgramSet programs;  // in the assignment's order
  SearchConfig search;
};

// InvalidArgument, naming the program, if a file is missing or damaged or its program cannot be
// played.
absl::StatusOr<std::shared_ptr<const AssignedPrograms>> ReadAssignment(
    const v1::Assignment& assignment, const ProgramFiles& files);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_
