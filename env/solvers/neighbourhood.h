// The changes that local search tries.

#ifndef MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_
#define MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "env/program_rules.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/values.h"

namespace mallocmuzero {

// Random changes of an incumbent. Thread-compatible; `rules` must outlive it.
class Neighbourhood {
 public:
  explicit Neighbourhood(const ProgramRules& rules);

  // True if the program has no access that could be a decision.
  bool empty() const { return movable_.empty(); }

  // Accesses that may be decisions.
  uint64_t size() const { return movable_.size(); }

  // Changes ascending by access, none twice; valid until the next call. Half of them are where an
  // instruction takes longer than it could. One of:
  //   - one access does something else;
  //   - some accesses of a value in a row go to fast memory, or to HBM;
  //   - a value goes to fast memory for an access that takes longer than it could, and others make
  //     room: values that were given fast memory since its last access go to HBM;
  //   - accesses of one value go to fast memory and of another, used at the same time, to HBM.
  absl::Span<const PlanChange> Draw(const Incumbent& incumbent, Random& random);

  // To get away from where none of these gains: several of them at once, all within a stretch of
  // the program; or a value goes to fast memory and as many others to HBM as have its bytes.
  absl::Span<const PlanChange> DrawKick(const Incumbent& incumbent, Random& random);

 private:
  enum class Space : uint8_t { kFast, kHbm };

  uint32_t DrawAccess(Random& random) const;

  // An access in HBM of an instruction that takes longer than it could, if there is one.
  uint32_t DrawCostlyAccess(const Incumbent& incumbent, Random& random);

  void UpdateRegret(const Incumbent& incumbent);

  void FlipOne(const Incumbent& incumbent, uint32_t access, Random& random);
  void MoveStretch(uint32_t access, Space space, Random& random);
  void MakeRoom(const Incumbent& incumbent, uint32_t access, Random& random);
  void Scatter(Random& random);
  void Displace(const Incumbent& incumbent, uint32_t access, Random& random);
  void Swap(const Incumbent& incumbent, uint32_t access, Random& random);

  // Sends values that are in fast memory at `accesses`, from the first up to the second, to HBM,
  // but not the one to be `spared`: `victims` of them, or fewer if these have `bytes`.
  void Evict(const Incumbent& incumbent, uint32_t spared, std::pair<uint32_t, uint32_t> accesses,
             uint32_t victims, int64_t bytes, Random& random);

  // Positions first to last of the value's accesses.
  void Move(const Value& value, size_t first, size_t last, Space space, Random& random);

  // Positions of accesses around one: it, or up to the end of the value, or some.
  std::pair<size_t, size_t> DrawStretch(uint32_t access, Random& random) const;

  void PriceRegret(uint32_t instruction, uint64_t mask);

  void Tidy();

  const ProgramRules& rules_;
  std::vector<Value> values_;
  std::vector<uint32_t> value_of_;         // by access, into values_
  std::vector<uint32_t> position_of_;      // by access, in its value
  std::vector<uint32_t> movable_;          // accesses that may be decisions, ascending
  std::vector<double> cumulative_weight_;  // of movable_
  std::vector<double> fewest_cycles_;      // by instruction, one execution

  // By instruction: cycles above the fewest, all executions, with these accesses in fast memory;
  // and their sums, of this version of the incumbent.
  std::vector<double> regret_;
  std::vector<uint64_t> regret_mask_;
  std::vector<double> cumulative_regret_;
  uint64_t regret_version_ = 0;
  std::vector<PlanChange> changes_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_NEIGHBOURHOOD_H_
