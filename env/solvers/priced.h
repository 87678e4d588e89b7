// Plans that pay for fast memory and for copies: the decisions of a market with one price for each.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PRICED_H_
#define MALLOCMUZERO_ENV_SOLVERS_PRICED_H_

#include <vector>

#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/values.h"

namespace mallocmuzero {

struct Prices {
  // Of holding a byte of fast memory for a cycle. 1 is what it would have to cost if all that fast
  // memory can save were paid for all of it, all of the time.
  double memory = 0;

  // Of a cycle of a copy's time on an idle HBM.
  double copy = 0;
};

// Thread-compatible; `rules` must outlive it.
class PricedPlanner {
 public:
  explicit PricedPlanner(const ProgramRules& rules);

  // Every value for itself, by what its accesses save (FindSavings) and how long it occupies memory
  // in between, at the pace of the program in HBM:
  //   - an access keeps the value from the access before if its saving pays for that time;
  //   - else it copies the value in if its saving pays for the copy and the memory meanwhile;
  //   - a write stays in fast memory only if all accesses to come keep it and all savings together
  //     pay for all the time; it is written back as well if the next access keeps it, or its own
  //     saving pays for the copy.
  // With one constraint a price for it finds the best plan but for a remainder (Lagrangian
  // relaxation); here it is a good start.
  Plan PlanFor(const Prices& prices) const;

 private:
  void PlanValue(const Value& value, const Prices& prices, Plan& plan) const;
  Action PlanWrite(const Value& value, const Prices& prices, bool all_kept,
                   Action next_action) const;

  // Time from just behind an access to the end of another one, cycles.
  double HeldFor(const Value& value, size_t from, size_t to) const;
  double Rent(const Value& value, const Prices& prices, double cycles) const;
  double CopyCycles(const Value& value) const;

  const ProgramRules& rules_;
  std::vector<Value> values_;
  std::vector<double> savings_;         // by access
  std::vector<double> elapsed_before_;  // by instruction, and at the end
  double memory_unit_;                  // cycles a byte and cycle at price 1
};

// The plans of fewest cycles, at most `count`, best first and no two of equal cycles, of those for
// a grid of prices. Ends early if the budget does.
std::vector<Plan> BestPricedPlans(const ProgramRules& rules, size_t count, SearchBudget& budget);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PRICED_H_
