// The changes that local search tries.

#ifndef MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_
#define MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "base/size32.h"
#include "env/solvers/alike_accesses.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/program_facts.h"

namespace mallocmuzero {

// The part of a neighbourhood that does not depend on the incumbent. Immutable; the threads of a
// search share one. `facts` must outlive it.
class NeighbourhoodTables {
 public:
  explicit NeighbourhoodTables(const ProgramFacts& facts);

  const ProgramFacts& facts() const { return facts_; }
  const ProgramRules& rules() const { return facts_.rules(); }
  const Program& program() const { return facts_.program(); }

  const AlikeAccesses& alike() const { return alike_; }

  // Accesses that may be decisions, ascending.
  absl::Span<const AccessIndex> movable() const { return movable_; }

  // Sums of the weights of movable() up to each access: accesses that save much weigh more.
  absl::Span<const double> cumulative_weight() const { return cumulative_weight_; }

  // Cycles of all executions of an instruction above FewestCyclesFound, with these of its accesses
  // in fast memory.
  double Regret(InstructionIndex instruction, uint64_t fast_mask) const;

  // By instruction, with everything in HBM.
  absl::Span<const double> regret_in_hbm() const { return regret_in_hbm_; }

 private:
  const ProgramFacts& facts_;
  AlikeAccesses alike_;
  std::vector<AccessIndex> movable_;
  std::vector<double> cumulative_weight_;
  IndexVector<InstructionIndex, double> fewest_cycles_;  // by instruction, one execution
  std::vector<double> regret_in_hbm_;
};

// A stretch of NeighbourhoodTables::movable(): positions from `first` up to `end`.
struct Window {
  uint32_t first = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - first; }
};

// Random changes of an incumbent. Thread-compatible; `tables` must outlive it.
class Neighbourhood {
 public:
  explicit Neighbourhood(const NeighbourhoodTables& tables);

  // True if the program has no access that could be a decision.
  bool empty() const { return tables_.movable().empty(); }

  // Accesses that may be decisions.
  uint32_t size() const { return Size32(tables_.movable()); }

  Window whole() const { return {.first = 0, .end = size()}; }

  // At most `width` positions, with this access in the middle if they can.
  Window WindowAround(AccessIndex access, uint32_t width) const;

  // The accesses of a window, from the first up to the second.
  std::pair<AccessIndex, AccessIndex> AccessesIn(const Window& window) const;

  // Draws change only accesses in this window: a try whose changes lie far apart plays all that is
  // between them. At first the window is the whole program. It must not be empty.
  void SetWindow(const Window& window);
  const Window& window() const { return window_; }

  // Changes ascending by access, none twice; valid until the next call. Half of the draws are about
  // an instruction that takes longer than it could. A draw is one of:
  //   - one access takes another action;
  //   - some accesses of a value in a row go to fast memory, or to HBM;
  //   - a value goes to fast memory for an access, and other values make room: values that are in
  //     fast memory between the value's access before and this one go to HBM;
  //   - accesses of one value go to fast memory, and accesses of another value that is used at the
  //     same time go to HBM.
  // If the window is the whole program, some draws change all alike accesses in the same way,
  // because a gain in one layer of a model is mostly a gain in the others, too.
  absl::Span<const PlanChange> Draw(const Incumbent& incumbent, Random& random);

  // A larger change, to leave an incumbent that no single draw improves: several draws at once, all
  // within a stretch of the program; or a value goes to fast memory, and other values of as many
  // bytes go to HBM.
  absl::Span<const PlanChange> DrawKick(const Incumbent& incumbent, Random& random);

  // An access to disturb the incumbent at. Half of the draws are about an instruction that takes
  // longer than it could.
  AccessIndex DrawPlace(const Incumbent& incumbent, Random& random);

  // Changes the accesses outside of the window in the same way as the alike accesses in the window
  // have changed since `before`, an earlier plan of the incumbent. Changes ascending by access;
  // valid until the next call.
  absl::Span<const PlanChange> Spread(const Plan& before, const Incumbent& incumbent);

 private:
  enum class Space : uint8_t { kFast, kHbm };

  // The position in movable() of this access, or else of the first one after it.
  uint32_t PositionOf(AccessIndex access) const;

  AccessIndex DrawAccess(Random& random) const;

  // An access in HBM of an instruction that takes longer than it could; any access if the draw
  // finds none.
  AccessIndex DrawCostlyAccess(const Incumbent& incumbent, Random& random);

  void UpdateRegret(const Incumbent& incumbent);

  void FlipOne(const Incumbent& incumbent, AccessIndex access, Random& random);
  void MoveStretch(AccessIndex access, Space space, Random& random);
  void MakeRoom(const Incumbent& incumbent, AccessIndex access, Random& random);
  void Scatter(AccessIndex access, Random& random);
  void Displace(const Incumbent& incumbent, AccessIndex access, Random& random);
  void Swap(const Incumbent& incumbent, AccessIndex access, Random& random);

  // Sends values that are in fast memory at `accesses` (from the first up to the second) to HBM,
  // but not the value `spared`: `victims` values, or fewer if they have `bytes` together.
  void Evict(const Incumbent& incumbent, ValueIndex spared,
             std::pair<AccessIndex, AccessIndex> accesses, uint32_t victims, int64_t bytes,
             Random& random);

  // Sends the accesses at positions first to last of the value to a memory.
  void Move(const Value& value, size_t first, size_t last, Space space, Random& random);

  // The first and last position of a stretch of the value's accesses around `access`: all, up to
  // the value's end, or a few.
  std::pair<size_t, size_t> DrawStretch(AccessIndex access, Random& random) const;

  // Adds the same change for each access that is alike to that of a change.
  void ChangeAlike();

  // Sorts the changes. The last change of an access counts.
  void Sort();

  // Sorts the changes, and drops those outside of the window.
  void Tidy();

  const NeighbourhoodTables& tables_;
  const ProgramFacts& facts_;

  Window window_;

  // By instruction: the regret, and the accesses in fast memory that it was computed for. By
  // instruction of the window: the sum of the regrets up to it, for one version of the incumbent.
  IndexVector<InstructionIndex, double> regret_;
  IndexVector<InstructionIndex, uint64_t> regret_mask_;
  std::vector<double> cumulative_regret_;
  uint64_t regret_version_ = 0;  // 0: of no version
  std::vector<PlanChange> changes_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_
