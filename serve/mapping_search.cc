#include "serve/mapping_search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "actor/agent_solver.h"
#include "base/compression.h"
#include "base/message_file.h"
#include "base/steady_clock.h"
#include "env/program_set.h"
#include "env/solvers/plan.h"
#include "env/solvers/solution.h"
#include "env/solvers/solve.h"
#include "simulator/core/mapping.h"
#include "simulator/overrides/export.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

// Share of the time before the call's deadline that is left for the answer.
constexpr double kAnswerShare = 0.05;

// How long the compiler options of an answer are priced at most, as a share of the search's time. A
// short search has a second for it.
constexpr double kPricingShare = 0.05;

class Searcher {
 public:
  Searcher(const MappingRequest& request, const SearchSettings& settings)
      : request_(request), settings_(settings), begun_(SteadyNow()) {}

  absl::StatusOr<SearchFigures> Run() {
    if (request_.stop()) return absl::CancelledError("the search was cancelled before it began");
    absl::StatusOr<std::unique_ptr<PlayedProgram>> program =
        MakeRequestProgram(*request_.request, settings_.limits, request_.stop);
    if (!program.ok()) return program.status();
    program_ = *std::move(program);
    if (request_.stop()) return absl::CancelledError("the search was cancelled before it began");
    start_ = SteadyNow();
    end_ = std::min(start_ + absl::Seconds(request_.request->budget_seconds()),
                    request_.deadline - kAnswerShare * (request_.deadline - start_));
    if (end_ <= start_) return absl::DeadlineExceededError("no time is left for the search");
    if (absl::Status status = SendStarted(); !status.ok()) return status;
    const absl::StatusOr<Solution> solution = Search();
    if (!solution.ok()) return solution.status();
    SendResult(*solution);
    return SearchFigures{.wait_seconds = absl::ToDoubleSeconds(begun_ - request_.arrived),
                         .prepare_seconds = absl::ToDoubleSeconds(start_ - begun_),
                         .search_seconds = absl::ToDoubleSeconds(SteadyNow() - start_),
                         .games = solution->games,
                         .simulations = solution->simulations,
                         .interrupted = solution->interrupted};
  }

 private:
  const Program& program() const { return program_->program(); }

  absl::string_view SolverName() const {
    const std::string& name = request_.request->solver();
    return name.empty() ? solver_name::kPortfolio : absl::string_view(name);
  }

  absl::Status SendStarted() const {
    v1::FindMappingResponse response;
    v1::SearchStarted& started = *response.mutable_started();
    started.set_name(program_->name());
    if (request_.request->has_hlo()) {
      v1::Program proto = program().proto();
      FillHeader(proto);
      absl::StatusOr<std::string> bytes = Compress(SerializeDeterministically(proto), "program");
      if (!bytes.ok()) return bytes.status();
      started.set_program(*std::move(bytes));
    }
    started.set_all_hbm_cycles(program_->rules().all_hbm_cycles());
    if (program().baseline() != nullptr) {
      started.set_default_cycles(program().baseline()->compiled_cycles);
    }
    started.set_wait_seconds(absl::ToDoubleSeconds(begun_ - request_.arrived));
    started.set_prepare_seconds(absl::ToDoubleSeconds(start_ - begun_));
    started.set_search_seconds(absl::ToDoubleSeconds(end_ - start_));
    if (request_.network != nullptr) started.set_network_step(request_.network->step);
    request_.send(std::move(response));
    return absl::OkStatus();
  }

  absl::StatusOr<Solution> Search() {
    const v1::FindMappingRequest& asked = *request_.request;
    const absl::string_view solver = SolverName();
    std::unique_ptr<AgentSolver> agent;
    if (request_.network != nullptr) {
      agent = std::make_unique<AgentSolver>(*program_, request_.network->network, settings_.search);
    } else if (solver == solver_name::kAgent) {
      return absl::FailedPreconditionError("solver: agent needs a network, this server has none");
    }
    SolveOptions options;
    options.deadline = end_;
    if (asked.max_games() > 0) options.max_games = asked.max_games();
    options.threads =
        asked.threads() == 0 ? settings_.threads : std::min(asked.threads(), settings_.threads);
    options.seed = asked.seed();
    options.stop = request_.stop;
    options.agent = agent.get();
    if (!asked.result_only()) {
      options.improved = [this](const Plan& plan, double cycles) { SendBetter(plan, cycles); };
    }
    return Solve(solver, program_->rules(), options);
  }

  // Intermediate answers are as good as the result: checked, and better than the default.
  void SendBetter(const Plan& plan, double cycles) const {
    const Baseline* baseline = program().baseline();
    if (baseline != nullptr && cycles >= baseline->compiled_cycles) return;
    const Solution solution = SolutionOf(program_->rules(), plan, SolverName());
    if (!Validate(program(), solution.mapping).empty()) return;
    v1::FindMappingResponse response;
    *response.mutable_better() = Describe(solution);
    request_.send(std::move(response));
  }

  void SendResult(const Solution& solution) const {
    v1::FindMappingResponse response;
    v1::FoundMapping& result = *response.mutable_result();
    result = Describe(solution);
    result.set_games(solution.games);
    result.set_simulations(solution.simulations);
    result.set_interrupted(solution.interrupted);
    request_.send(std::move(response));
  }

  v1::FoundMapping Describe(const Solution& solution) const {
    v1::FoundMapping found;
    *found.mutable_mapping() = MappingToProto(solution.mapping, program());
    found.set_solver(solution.solver);
    found.set_cycles(solution.cycles);
    const Baseline* baseline = program().baseline();
    const double reference =
        baseline != nullptr ? baseline->compiled_cycles : program_->rules().all_hbm_cycles();
    if (reference > 0) found.set_gain(1 - solution.cycles / reference);
    if (baseline != nullptr && solution.solver != solver_name::kDefault) {
      // The options of a large program have many items, each of which takes a simulation.
      const absl::Time latest =
          SteadyNow() + std::max(kPricingShare * (end_ - start_), absl::Seconds(1));
      const absl::StatusOr<v1::OverridesReport> overrides =
          ExportOverrides(program(), solution.mapping, OverrideScope::kValues,
                          [&] { return request_.stop() || SteadyNow() >= latest; });
      if (overrides.ok()) *found.mutable_compiler_options() = overrides->options();
    }
    found.set_seconds(absl::ToDoubleSeconds(SteadyNow() - start_));
    return found;
  }

  const MappingRequest& request_;
  const SearchSettings& settings_;
  const absl::Time begun_;
  absl::Time start_;
  absl::Time end_;
  std::unique_ptr<PlayedProgram> program_;
};

}  // namespace

absl::StatusOr<SearchFigures> SearchMapping(const MappingRequest& request,
                                            const SearchSettings& settings) {
  return Searcher(request, settings).Run();
}

}  // namespace mallocmuzero
