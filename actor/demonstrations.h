// Games that solvers show an agent.

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

// Solvers by name, each of which shows one game, the quick ones first.
absl::Span<const absl::string_view> Teachers();

// A game by each of Teachers(), in their order; `id_of` names that of a teacher by its index. All
// end at `options.deadline` or with `options.stop`, and are whole games even so. Errors are
// Solve's.
absl::StatusOr<std::vector<v1::Trajectory>> ShowGames(
    const PlayedProgram& program, const SolveOptions& options,
    absl::FunctionRef<std::string(size_t teacher)> id_of);

// The id of a teacher's game of a program wherever, and however often, it is shown.
std::string DemonstrationId(const PlayedProgram& program, size_t teacher);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_DEMONSTRATIONS_H_
