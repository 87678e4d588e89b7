// What games of a program have brought lately, so that values are about what is better or worse
// than that.

#ifndef MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
#define MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// One decision may be worth a millionth of the return, and most of what is still to come is the
// same in every game. So networks see returns-to-go relative to the mean of recent games at the
// same access, in units of their spread:
//   value at a decision  = (return to go - baseline at its access) / scale
//   reward of a decision = (reward - what the baseline falls by until the next decision) / scale
// so that a value is still the sum of the rewards that follow.
//
// Ranked values look at the end only: a game is won if its return is above a quantile of those of
// the latest games, and lost if it is below (Laterre et al., 2018, "Ranked Reward";
// self-competition in MuZero-RC, Mandhane et al., 2022). Not thread-safe.
class ReturnBaseline {
 public:
  // `access_count` is that of the program. `ranked_quantile`: the share of the latest games that a
  // game must beat, above 0 and below 1; 0: values are not ranked.
  explicit ReturnBaseline(uint32_t access_count, double ranked_quantile = 0);

  // Takes a game into the means.
  void Add(const v1::Trajectory& trajectory);

  // The units that At, scale and Outcome are in from now on. Before the first call: 0, 1 and 0.
  void Refresh();

  // Mean return to go from the first decision at `access` or behind it, share of the all-HBM
  // cycles. 0 for access_count.
  double At(uint32_t access) const { return frozen_[access]; }

  // Typical deviation from it, above 0.
  double scale() const { return scale_; }

  bool is_ranked() const { return ranked_quantile_ > 0; }

  // Of ranked values: 1 if the game is won, -1 if it is lost. One that brings what is to be beaten
  // is either, by its id alone, and both are equally likely.
  double Outcome(const v1::Trajectory& trajectory) const;

  uint64_t games() const { return games_; }

  // All there is to know, for a training run to go on. Restore takes what Save of a baseline with
  // the same access_count gave, ranked or not as this one is, and is false for anything else.
  v1::ReturnBaselineState Save() const;
  bool Restore(const v1::ReturnBaselineState& state);

 private:
  uint64_t games_ = 0;
  double scale_ = 1;
  double variance_ = 0;         // mean square deviation from the mean
  std::vector<double> mean_;    // by access, and one behind the last
  std::vector<double> frozen_;  // likewise
  double ranked_quantile_;
  std::deque<double> returns_;  // of the latest games, oldest first; empty if not ranked
  double return_to_beat_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
