#include "actor/incumbents.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_set.h"
#include "env/recorded_game.h"
#include "env/solvers/plan.h"

namespace mallocmuzero {
namespace {

// The game that these actions play; null if they are not a whole game of the program.
std::shared_ptr<const IncumbentGame> MakeIncumbent(const PlayedProgram& program,
                                                   HbmShare total_return,
                                                   absl::Span<const Action> actions) {
  const std::optional<Game> whole = PlayWhole(program.rules(), actions);
  if (!whole.has_value()) return nullptr;
  auto incumbent = std::make_shared<IncumbentGame>();
  incumbent->total_return = total_return;
  const IndexSpan<AccessIndex, const uint8_t> flags = whole->in_fast_memory();
  incumbent->in_fast_memory = {flags.begin(), flags.end()};
  std::vector<AccessIndex> decided;
  IndexVector<AccessIndex, double>& returns = incumbent->returns_before;
  Game game(program.rules());
  for (const Action action : actions) {
    decided.push_back(game.access());
    returns.resize(game.access().number() + 1, game.total_return());
    game.Apply(action);
  }
  returns.resize(flags.size(), game.total_return());
  incumbent->plan = PlanOf(*whole, decided);
  return incumbent;
}

}  // namespace

bool Incumbents::Offer(const PlayedProgram& program, HbmShare total_return,
                       absl::Span<const Action> actions) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!IsBest(program, total_return)) return true;
  }
  std::shared_ptr<const IncumbentGame> incumbent = MakeIncumbent(program, total_return, actions);
  if (incumbent == nullptr) return false;
  const absl::MutexLock lock(&mutex_);
  // Another thread may have taken over a better game meanwhile.
  if (IsBest(program, total_return)) {
    incumbents_[program.sha256()] = std::move(incumbent);
  }
  return true;
}

bool Incumbents::IsBest(const PlayedProgram& program, HbmShare total_return) const {
  const auto known = incumbents_.find(program.sha256());
  return known == incumbents_.end() || total_return > known->second->total_return;
}

std::shared_ptr<const IncumbentGame> Incumbents::Find(const PlayedProgram& program) const {
  const absl::MutexLock lock(&mutex_);
  const auto known = incumbents_.find(program.sha256());
  return known == incumbents_.end() ? nullptr : known->second;
}

std::map<std::string, HbmShare> Incumbents::returns() const {
  const absl::MutexLock lock(&mutex_);
  std::map<std::string, HbmShare> returns;
  for (const auto& [program, known] : incumbents_) returns[program] = known->total_return;
  return returns;
}

void Incumbents::Keep(const ProgramSet& programs) {
  const absl::MutexLock lock(&mutex_);
  std::erase_if(incumbents_, [&programs](const auto& incumbent) {
    return programs.Find(incumbent.first) == nullptr;
  });
}

}  // namespace mallocmuzero
