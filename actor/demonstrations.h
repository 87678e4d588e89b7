// Games of solvers that an agent learns from.

#ifndef MALLOCMUZERO_ACTOR_DEMONSTRATIONS_H_
#define MALLOCMUZERO_ACTOR_DEMONSTRATIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// The names of the solvers that demonstrate one game each, quick solvers first.
absl::Span<const absl::string_view> Teachers();

// One game of each of Teachers(), in their order. `id_of` gives the id of the game of the teacher
// with that index. The solvers end at `options.deadline` or when `options.stop` is true; their
// games are whole even then. Errors are those of Solve.
absl::StatusOr<std::vector<v1::Trajectory>> ShowGames(
    const PlayedProgram& program, const SolveOptions& options,
    absl::FunctionRef<std::string(size_t teacher)> id_of);

// The id of a teacher's game of a program. It is the same on every machine and at every time.
std::string DemonstrationId(const PlayedProgram& program, size_t teacher);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_DEMONSTRATIONS_H_
