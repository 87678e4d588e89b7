#include "env/program_set.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "env/game.h"
#include "env/players.h"

namespace mallocmuzero {

std::unique_ptr<PlayedProgram> PlayedProgram::Create(Program program) {
  auto shared = std::make_unique<const Program>(std::move(program));
  ProgramRules rules = ProgramRules::Create(*shared);
  return std::unique_ptr<PlayedProgram>(new PlayedProgram(std::move(shared), std::move(rules)));
}

PlayedProgram::PlayedProgram(std::unique_ptr<const Program> program, ProgramRules rules)
    : program_(std::move(program)), rules_(std::move(rules)), tables_(rules_) {
  Game game(rules_);
  while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
  decisions_ = Size32(game.history());
  const Baseline* baseline = program_->baseline();
  default_return_ = baseline != nullptr
                        ? rules_.ShareOfAllHbm(rules_.all_hbm_cycles() - baseline->compiled_cycles)
                        : std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<ProgramSet> ProgramSet::Create(std::vector<Program> programs) {
  ProgramSet set;
  for (Program& program : programs) {
    std::unique_ptr<PlayedProgram> played = PlayedProgram::Create(std::move(program));
    if (played->decisions() == 0) {
      set.idle_.push_back(played->name());
      continue;
    }
    if (!set.by_sha256_.try_emplace(played->sha256(), set.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(played->name(), ": the same program is there twice"));
    }
    for (const std::unique_ptr<PlayedProgram>& other : set.programs_) {
      if (other->name() == played->name() &&
          other->program().hardware().name() == played->program().hardware().name()) {
        return absl::InvalidArgumentError(
            absl::StrCat(played->name(), ": two different programs have this name"));
      }
    }
    set.programs_.push_back(std::move(played));
  }
  if (set.programs_.empty()) {
    return absl::InvalidArgumentError("no program leaves anything to decide");
  }
  return set;
}

const PlayedProgram* ProgramSet::Find(absl::string_view sha256) const {
  const auto found = by_sha256_.find(sha256);
  return found == by_sha256_.end() ? nullptr : programs_[found->second].get();
}

}  // namespace mallocmuzero
