#include "dashboard/reference_search.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/steady_clock.h"
#include "env/program_rules.h"
#include "env/solvers/solve.h"

namespace mallocmuzero {
namespace {

constexpr int kLowestPriority = 19;

}  // namespace

ReferenceSearch::ReferenceSearch(absl::Duration budget) : budget_(budget) {
  if (budget_ > absl::ZeroDuration()) thread_ = std::thread([this] { Work(); });
}

ReferenceSearch::~ReferenceSearch() {
  {
    const absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void ReferenceSearch::Add(const std::shared_ptr<const Program>& program) {
  if (budget_ <= absl::ZeroDuration()) return;
  const absl::MutexLock lock(&mutex_);
  const bool is_new = saved_.try_emplace(program->proto().fingerprint(), std::nullopt).second;
  if (is_new) waiting_.push_back(program);
}

std::optional<double> ReferenceSearch::SavedPercent(const Program& program) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = saved_.find(program.proto().fingerprint());
  return found == saved_.end() ? std::nullopt : found->second;
}

bool ReferenceSearch::Stopped() const {
  const absl::MutexLock lock(&mutex_);
  return stop_;
}

void ReferenceSearch::Work() {
  // Linux gives each thread a priority of its own. A failure only makes the search less polite.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
  for (;;) {
    std::shared_ptr<const Program> program;
    {
      const absl::MutexLock lock(&mutex_);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stop_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&ready));
      if (stop_) return;
      program = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const ProgramRules rules = ProgramRules::Create(*program);
    const absl::StatusOr<Solution> solution =
        Solve(solver_name::kLocalSearch, rules,
              {.deadline = SteadyNow() + budget_, .stop = [this] { return Stopped(); }});
    if (!solution.ok() || solution->interrupted) continue;
    const Baseline* baseline = program->baseline();
    const double reference =
        baseline != nullptr ? baseline->compiled_cycles : rules.all_hbm_cycles();
    const absl::MutexLock lock(&mutex_);
    saved_[program->proto().fingerprint()] = 100 * (1 - solution->cycles / reference);
  }
}

}  // namespace mallocmuzero
