// The programs and settings that the learner has assigned, ready to be played.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_
#define MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "actor/role/learner_client.h"
#include "actor/search/search.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/learner.pb.h"

namespace mallocmuzero {

// Immutable, so that threads can share it.
struct AssignedPrograms {
  v1::Assignment assignment;
  ProgramSet programs;  // in the assignment's order
  SearchConfig search;
};

// Builds the programs of an assignment from their files. InvalidArgument names the program whose
// file is missing or damaged.
absl::StatusOr<std::shared_ptr<const AssignedPrograms>> ReadAssignment(
    const v1::Assignment& assignment, const ProgramFiles& files);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ASSIGNED_PROGRAMS_H_
