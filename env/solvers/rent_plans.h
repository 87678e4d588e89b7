// Plans that pay rent for fast memory and a price for copies.

#ifndef MALLOCMUZERO_ENV_SOLVERS_RENT_PLANS_H_
#define MALLOCMUZERO_ENV_SOLVERS_RENT_PLANS_H_

#include <vector>

#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

struct Prices {
  // Rent of a byte of fast memory for a cycle. 1 is the rent at which all savings of the program
  // together pay for all of the fast memory all of the time.
  double memory = 0;

  // Price of a cycle that a copy takes on an idle HBM.
  double copy = 0;
};

// Thread-compatible; `facts` must outlive it.
class RentPlanner {
 public:
  explicit RentPlanner(const ProgramFacts& facts);

  // Plans each value by itself, by the savings of its accesses and the time that it occupies fast
  // memory between them. Time passes as it does with everything in HBM.
  //   - An access keeps the value from the access before if its saving pays the rent of that time.
  //   - Otherwise the access copies the value in if its saving pays for the copy and for the rent
  //     while the copy runs.
  //   - A write goes to fast memory only, if all later accesses keep the value and all savings
  //     together pay the whole rent. It goes to both memories if the next access keeps the value,
  //     or if its own saving pays for the copy.
  // This is a Lagrangian relaxation. With one constraint, a price for the constraint would find the
  // best plan except for a remainder. Memory is a constraint at every instruction, so this plan is
  // only a start.
  Plan PlanFor(const Prices& prices) const;

 private:
  void PlanValue(const Value& value, const Prices& prices, Plan& plan) const;
  Action PlanWrite(const Value& value, const Prices& prices, bool all_kept,
                   Action next_action) const;

  // Cycles from the end of one access to the end of a later one.
  double HeldFor(const Value& value, size_t from, size_t to) const;
  double Rent(const Value& value, const Prices& prices, double cycles) const;
  double CopyCycles(const Value& value) const;

  const ProgramFacts& facts_;
  double memory_unit_;  // cycles for a byte and cycle at price 1
};

// Proposes the best plans of a grid of prices, at most kBestRentPlans, no two of equal cycles.
// Plays the first plan even if the meter is spent, unless the search as a whole is over.
class RentSolver : public Solver {
 public:
  static constexpr size_t kBestRentPlans = 3;

  absl::string_view name() const override { return "rent"; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_RENT_PLANS_H_
