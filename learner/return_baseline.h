// What games of a program bring on average from each access on, so that values are about what is
// better or worse than that.

#ifndef MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
#define MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// One decision may be worth a millionth of the return, and most of what is still to come is the
// same in every game. So networks see returns-to-go relative to the mean of recent games at the
// same access, in units of their spread:
//   value at a decision  = (return to go - baseline at its access) / scale
//   reward of a decision = (reward - what the baseline falls by until the next decision) / scale
// so that a value is still the sum of the rewards that follow. Not thread-safe.
class ReturnBaseline {
 public:
  // `access_count` is that of the program.
  explicit ReturnBaseline(uint32_t access_count);

  // Takes a game into the means.
  void Add(const v1::Trajectory& trajectory);

  // The units that At and scale are in from now on. Before the first call: 0 and 1.
  void Refresh();

  // Mean return to go from the first decision at `access` or behind it, share of the all-HBM
  // cycles. 0 for access_count.
  double At(uint32_t access) const { return frozen_[access]; }

  // Typical deviation from it, above 0.
  double scale() const { return scale_; }

  uint64_t games() const { return games_; }

  // All there is to know, for a training run to go on. Restore takes what Save of a baseline with
  // the same access_count gave, and is false for anything else.
  v1::ReturnBaselineState Save() const;
  bool Restore(const v1::ReturnBaselineState& state);

 private:
  uint64_t games_ = 0;
  double scale_ = 1;
  double variance_ = 0;         // mean square deviation from the mean
  std::vector<double> mean_;    // by access, and one behind the last
  std::vector<double> frozen_;  // likewise
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
