#include "actor/demonstrations.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "actor/game_recorder.h"
#include "base/sha256.h"

namespace mallocmuzero {
namespace {

constexpr absl::string_view kTeachers[] = {"greedy", "xla_like", "local_search"};

}  // namespace

absl::Span<const absl::string_view> Teachers() { return kTeachers; }

absl::StatusOr<std::vector<v1::Trajectory>> ShowGames(
    const PlayedProgram& program, const SolveOptions& options,
    absl::FunctionRef<std::string(size_t teacher)> id_of) {
  std::vector<v1::Trajectory> games;
  for (const absl::string_view teacher : kTeachers) {
    const absl::StatusOr<Solution> solution = Solve(teacher, program.rules(), options);
    if (!solution.ok()) return solution.status();
    absl::StatusOr<v1::Trajectory> game =
        Demonstrate(program, id_of(games.size()), solution->actions);
    if (!game.ok()) return game.status();
    games.push_back(*std::move(game));
  }
  return games;
}

std::string DemonstrationId(const PlayedProgram& program, size_t teacher) {
  return Sha256(absl::StrCat("demonstration/", kTeachers[teacher], "/", program.sha256()))
      .substr(0, 16);
}

}  // namespace mallocmuzero
