#include "actor/incumbents.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_set.h"
#include "env/recorded_game.h"
#include "env/solvers/plan.h"

namespace mallocmuzero {

bool Incumbents::Offer(const PlayedProgram& program, HbmShare total_return,
                       absl::Span<const Action> actions) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!IsBest(program, total_return)) return true;
  }
  const std::optional<Game> game = PlayWhole(program.rules(), actions);
  if (!game.has_value()) return false;
  auto plan = std::make_shared<const Plan>(PlanOf(*game));
  const absl::MutexLock lock(&mutex_);
  // Another thread may have taken over a better game meanwhile.
  if (IsBest(program, total_return)) {
    incumbents_[program.sha256()] = {.total_return = total_return, .plan = std::move(plan)};
  }
  return true;
}

bool Incumbents::IsBest(const PlayedProgram& program, HbmShare total_return) const {
  const auto known = incumbents_.find(program.sha256());
  return known == incumbents_.end() || total_return > known->second.total_return;
}

std::shared_ptr<const Plan> Incumbents::Find(const PlayedProgram& program) const {
  const absl::MutexLock lock(&mutex_);
  const auto known = incumbents_.find(program.sha256());
  return known == incumbents_.end() ? nullptr : known->second.plan;
}

std::map<std::string, HbmShare> Incumbents::returns() const {
  const absl::MutexLock lock(&mutex_);
  std::map<std::string, HbmShare> returns;
  for (const auto& [program, known] : incumbents_) returns[program] = known.total_return;
  return returns;
}

void Incumbents::Keep(const ProgramSet& programs) {
  const absl::MutexLock lock(&mutex_);
  std::erase_if(incumbents_, [&programs](const auto& incumbent) {
    return programs.Find(incumbent.first) == nullptr;
  });
}

}  // namespace mallocmuzero
