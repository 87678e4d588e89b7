#include "actor/role/incumbent_games.h"

#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "env/program_set.h"
#include "env/recorded_game.h"
#include "replay/return_units.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

void IncumbentGames::SetAssigned(std::shared_ptr<const AssignedPrograms> assigned) {
  incumbents_.Keep(assigned->programs);
  const absl::MutexLock lock(&mutex_);
  assigned_ = std::move(assigned);
}

std::shared_ptr<const AssignedPrograms> IncumbentGames::assigned() const {
  const absl::MutexLock lock(&mutex_);
  const bool wanted = assigned_ != nullptr && assigned_->assignment.window_share() > 0;
  return wanted ? assigned_ : nullptr;
}

void IncumbentGames::SetOrders(const v1::ActorOrders& orders) {
  const std::shared_ptr<const AssignedPrograms> assigned = this->assigned();
  if (assigned == nullptr) return;
  for (const v1::ActorOrders::BestGame& best : orders.best_games()) {
    const PlayedProgram* program = assigned->programs.Find(best.program_sha256());
    if (program == nullptr) continue;
    incumbents_.Offer(*program, HbmShare(best.total_return()), ActionsOf(best.actions()));
  }
}

void IncumbentGames::AddGames(absl::Span<const v1::Trajectory> games) {
  const std::shared_ptr<const AssignedPrograms> assigned = this->assigned();
  if (assigned == nullptr) return;
  for (const v1::Trajectory& game : games) {
    const PlayedProgram* program = assigned->programs.Find(game.program_sha256());
    if (program == nullptr) continue;
    incumbents_.Offer(*program, TotalReturn(game), ActionsOf(game.actions()));
  }
}

void IncumbentGames::Describe(v1::ActorReport& report) const {
  for (const auto& [program, total_return] : incumbents_.returns()) {
    v1::ActorReport::KnownGame& known = *report.add_known_games();
    known.set_program_sha256(program);
    known.set_total_return(total_return.share());
  }
}

}  // namespace mallocmuzero
